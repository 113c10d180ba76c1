// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/results/profile/named_profile.hpp"

namespace plumb::analysis {

/// Row of a table of shares that each cell of a profile counts to.
using CellRows = std::vector<std::uint32_t>;

/// Returns each cell's own number, so that every cell is a row.
[[nodiscard]] CellRows rows_of_cells(const results::NamedProfile& profile);
/// Returns the number of each cell's step; after the last step, that of what is between steps.
[[nodiscard]] CellRows rows_of_steps(const results::NamedProfile& profile);
/// Returns the number of each cell's function.
[[nodiscard]] CellRows rows_of_functions(const results::NamedProfile& profile);
/// Returns the number of blocks of each unit that is drawn, in their order.
[[nodiscard]] std::vector<std::uint64_t> blocks_of_units(const results::NamedProfile& profile);

/// Samples of rows by groups of consecutive blocks: the unit that a bootstrap draws.
///
/// A group has blocks, or all blocks of a process or a run (drawn_unit()). There are at most
/// kMaxGroups groups, each of about as many units, so that the time of a bootstrap does not grow
/// with the profile. A process or a run is drawn as a whole: the spread of these includes that of
/// the blocks in them (Davison and Hinkley, "Bootstrap Methods and their Application", 1997, §3.8).
/// Pure.
class GroupedSamples {
 public:
  /// Share of a profile's samples.
  struct Share {
    /// Interval of a number without unit, of 95%.
    struct Interval {
      double low = 0.0;
      double high = 0.0;
    };

    std::uint64_t samples = 0;
    double share = 0.0;
    std::optional<Interval> interval;  ///< absent: too few blocks
  };

  /// What a bootstrap over a profile draws.
  enum class Unit {
    kBlock,    ///< blocks of executions: the interval is of these processes
    kProcess,  ///< whole processes, so that the interval knows how processes differ
    kRun,      ///< whole runs, so that the interval knows how runs differ
  };

  /// How often each round of a bootstrap drew each group.
  class Drawn {
   public:
    /// Makes room for some rounds, which are empty until draw().
    Drawn(std::size_t groups, std::size_t rounds);

    /// Draws as many groups as there are, with replacement, for a round.
    void draw(std::size_t round, std::mt19937_64& random);

    [[nodiscard]] std::size_t rounds() const { return rounds_; }
    /// Returns a group's number in each round.
    [[nodiscard]] std::span<const double> of_group(std::size_t group) const {
      return std::span(numbers_).subspan(group * rounds_, rounds_);
    }

   private:
    std::size_t groups_;
    std::size_t rounds_;
    std::vector<double> numbers_;  ///< by group, then by round: rounds are computed side by side
  };

  static constexpr std::size_t kMinGroups = 6;  ///< below, there are no intervals
  static constexpr std::size_t kMaxGroups = 200;

  /// Counts the samples of `rows` rows, one number for each cell of the profile.
  GroupedSamples(const results::NamedProfile& profile,
                 const CellRows& row_of_cell,
                 std::size_t rows);

  [[nodiscard]] std::size_t groups() const { return totals_.size(); }
  [[nodiscard]] std::size_t rows() const { return begins_.size() - 1; }
  [[nodiscard]] std::uint64_t samples(std::size_t row) const;
  [[nodiscard]] std::uint64_t samples() const;
  /// Returns the mean time of an execution.
  [[nodiscard]] double execution_seconds() const;
  /// Returns that time in each round, where each group counts as often as it was drawn.
  [[nodiscard]] std::vector<double> execution_seconds(const Drawn& drawn) const;
  /// Returns the samples of all rows in each round.
  [[nodiscard]] std::vector<double> samples(const Drawn& drawn) const;
  /// Returns the share of a row in each round, of what samples() returned. No samples at all: zero.
  [[nodiscard]] std::vector<double> shares(std::size_t row,
                                           const Drawn& drawn,
                                           const std::vector<double>& of_all) const;

 private:
  struct Count {
    std::uint32_t group = 0;
    std::uint32_t samples = 0;
  };
  std::vector<std::uint64_t> totals_;  ///< by group: samples of all rows
  std::vector<double> seconds_;        ///< by group: SampledProfile::Block::executed()
  std::vector<double> executions_;     ///< by group: in that time
  std::vector<std::size_t> begins_;    ///< by row: its first count, and after the last one
  std::vector<Count> counts_;
};

/// Returns Wilson's interval of a share of independent samples (Brown, Cai and DasGupta,
/// "Interval Estimation for a Binomial Proportion", 2001, §3.1.1).
[[nodiscard]] GroupedSamples::Share::Interval wilson_interval(std::uint64_t part,
                                                              std::uint64_t whole);

/// Returns the name of what is drawn, of many: "blocks", "processes" or "runs".
[[nodiscard]] std::string_view to_text(GroupedSamples::Unit unit);

/// Returns what is drawn of a profile: runs, where it has at least GroupedSamples::kMinGroups, else
/// processes, where it has as many of these.
[[nodiscard]] GroupedSamples::Unit drawn_unit(const results::NamedProfile& profile);

/// Returns the 95% interval around an estimate from the values of a bootstrap, which it reorders.
///
/// These are the percentiles, widened by what `groups` units underestimate of the spread: the
/// factor t(0.975, groups − 1) / z(0.975) · √(groups / (groups − 1)).
[[nodiscard]] GroupedSamples::Share::Interval bootstrap_interval(double estimate,
                                                                 std::vector<double>& values,
                                                                 std::size_t groups);

inline constexpr std::size_t kBootstrapRounds = 1000;

/// Returns the share of each row, with its interval by a bootstrap over groups of blocks.
///
/// A bootstrap says little about a row of few samples. Below kFewSamples, and beyond the
/// kMaxBootstrapRows rows with most, the interval is Wilson's for independent samples.
[[nodiscard]] std::vector<GroupedSamples::Share> compute_shares(const GroupedSamples& samples,
                                                                std::uint64_t seed = 1);

inline constexpr std::uint64_t kFewSamples = 20;
inline constexpr std::size_t kMaxBootstrapRows = 10'000;

/// What a profile says about itself.
struct ProfileSummary {
  std::uint64_t samples = 0;
  double in_steps = 0.0;         ///< share of the samples that have a step
  double in_functions = 0.0;     ///< share of the samples whose function has a name
  std::uint64_t executions = 0;  ///< with samples
  Seconds execution{};           ///< mean time, without samples if any were so
  /// Relative, of sampling: median over pairs of blocks. Absent: all blocks were sampled.
  std::optional<double> cost;
  std::optional<GroupedSamples::Share::Interval> cost_interval;  ///< absent: too few pairs
  std::size_t pairs = 0;
};

/// Summarises a profile. Pure.
[[nodiscard]] ProfileSummary summarize_profile(const results::NamedProfile& profile);

/// Returns whether all blocks of a profile were sampled, so that its times include what that costs.
[[nodiscard]] bool is_always_sampled(const results::NamedProfile& profile);

/// Returns a function's name for people: "[IMAGE]" if it has none.
[[nodiscard]] std::string name_of(const results::NamedProfile::CodeNames::Function& function);
/// Returns the name of a cell's step: "(between steps)" if it has none.
[[nodiscard]] std::string step_name(const results::NamedProfile& profile, std::uint32_t step);

}  // namespace plumb::analysis
