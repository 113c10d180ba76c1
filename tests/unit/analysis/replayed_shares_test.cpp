// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/profile/function_growth.hpp"
#include "harness/analysis/profile/merged_profile.hpp"
#include "harness/analysis/profile/profile_difference.hpp"
#include "harness/analysis/profile/profile_shares.hpp"
#include "tests/unit/analysis/profile_builder.hpp"

namespace plumb::analysis {
namespace {

/// Profiler's view of a program with three steps, whose shares vary from block to block, and from
/// run to run.
class Replay {
 public:
  static constexpr double kFirst = 0.30;  ///< true shares of the time
  static constexpr double kSecond = 0.05;
  explicit Replay(std::uint64_t seed) : random_(seed) {}

  /// Returns a profile of runs, each a process with other shares.
  results::NamedProfile runs(std::size_t count, std::size_t blocks, double spread) {
    RunMerger merger(count);
    for (std::size_t i = 0; i < count; ++i) {
      process_ = 1.0 + spread * normal_(random_);
      merger.add({Timestamp(std::chrono::seconds(i)),
                  "",
                  "",
                  {"run" + std::to_string(i), "lenet", {}, run(blocks)}});
    }
    return std::move(merger.take().front());
  }

  /// Returns a profile of one run by several processes, with other shares.
  results::NamedProfile processes(std::size_t count, std::size_t blocks, double spread) {
    results::NamedProfile merged;
    for (std::size_t i = 0; i < count; ++i) {
      process_ = 1.0 + spread * normal_(random_);
      if (i == 0) {
        merged = run(blocks);
      } else {
        merge_profile(run(blocks), merged);
      }
    }
    return merged;
  }

  results::NamedProfile run(std::size_t blocks) {
    ProfileBuilder builder;
    for (std::size_t i = 0; i < blocks; ++i) {
      add_block(builder.block());
    }
    return builder.build();
  }

 private:
  void add_block(ProfileBuilder& builder) {
    constexpr int kExecutions = 6;
    constexpr double kExecution = 0.008;
    const double state = process_ * (1.0 + 0.1 * normal_(random_));  // in this block
    std::vector<double> ends;
    double end = 0.0;
    for (int i = 0; i < kExecutions; ++i) {
      for (const double share : {kFirst * state, kSecond, 1.0 - kFirst * state - kSecond}) {
        end += kExecution * share;
        ends.push_back(end);
      }
    }
    std::size_t place = 0;
    std::vector<std::uint32_t> counts(3);
    for (double time = 0.001 * uniform_(random_); time < end; time += period()) {
      while (ends[place] <= time) {
        ++place;
      }
      ++counts[place % 3];
    }
    builder.samples("a", {"first", "generated"}, counts[0])
        .samples("b", {"second", "generated"}, counts[1])
        .samples("c", {"third", "generated"}, counts[2]);
  }

  double period() { return 0.001 * (0.75 + 0.5 * uniform_(random_)); }

  double process_ = 1.0;  ///< factor of the first share
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

results::NamedProfile blocks_of_one_run(Replay& replay) {
  return replay.run(60);
}

/// Runs whose passes are short, as those of 1 % of a run's time. What differs from run to run is
/// more than what differs in them.
results::NamedProfile runs_of_a_fortnight(Replay& replay) {
  return replay.runs(14, 6, 0.2);
}

/// One side of a paired measurement.
results::NamedProfile processes_of_a_side(Replay& replay) {
  return replay.processes(8, 6, 0.2);
}

/// Returns the share of replays of two equal sides in which the interval of the first function's
/// change holds zero, where processes are told apart and where they are not.
std::pair<double, double> compute_coverage_of_changes(std::uint64_t replays) {
  std::uint64_t by_processes = 0;
  std::uint64_t by_blocks = 0;
  const auto is_certain = [](const results::NamedProfile& before,
                             const results::NamedProfile& after) {
    const std::vector<ProfileDifference::Function> changes =
        compute_profile_difference(before, after).functions;
    const auto first = std::find_if(changes.begin(), changes.end(), [](const auto& each) {
      return each.function.name == "first";
    });
    return first->is_certain();
  };
  for (std::uint64_t seed = 1; seed <= replays; ++seed) {
    Replay replay(seed);
    results::NamedProfile before = processes_of_a_side(replay);
    results::NamedProfile after = processes_of_a_side(replay);
    by_processes += is_certain(before, after) ? 0U : 1U;
    before.processes.clear();
    after.processes.clear();
    by_blocks += is_certain(before, after) ? 0U : 1U;
  }
  return {static_cast<double>(by_processes) / static_cast<double>(replays),
          static_cast<double>(by_blocks) / static_cast<double>(replays)};
}

bool holds(const GroupedSamples::Share& share, double truth) {
  return share.interval.value().low <= truth && truth <= share.interval.value().high;
}

/// Returns the share of replays whose intervals hold the true shares, of both functions.
std::pair<double, double> compute_coverage(
    std::uint64_t replays, results::NamedProfile (*take)(Replay&) = blocks_of_one_run) {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  for (std::uint64_t seed = 1; seed <= replays; ++seed) {
    Replay replay(seed);
    const results::NamedProfile profile = take(replay);
    const auto shares = compute_shares(
        GroupedSamples(profile, rows_of_functions(profile), profile.functions.size()), seed);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      first += profile.functions[i].name == "first" && holds(shares[i], Replay::kFirst) ? 1U : 0U;
      second +=
          profile.functions[i].name == "second" && holds(shares[i], Replay::kSecond) ? 1U : 0U;
    }
  }
  return {static_cast<double>(first) / static_cast<double>(replays),
          static_cast<double>(second) / static_cast<double>(replays)};
}

/// Returns a listing of one function, whose instructions have the samples of a profile's functions
/// but the last.
results::NamedProfile::Listing list_as_instructions(const results::NamedProfile& profile) {
  results::NamedProfile::Listing listing;
  for (const results::NamedProfile::Cell& cell : profile.cells) {
    const std::uint64_t samples = results::count_samples(cell.counts);
    results::append_blocks(cell.counts, 0, listing.counts);
    listing.samples += samples;
    listing.instructions.push_back(
        {4U * cell.function, 4, profile.functions[cell.function].name, samples, cell.counts});
  }
  results::order_blocks(listing.counts);
  listing.disassembled = listing.instructions.size();
  listing.instructions.pop_back();
  return listing;
}

/// Returns the share of replays whose intervals hold the true share of the first instruction, drawn
/// and of independent samples.
std::pair<double, double> compute_instruction_coverage(std::uint64_t replays,
                                                       results::NamedProfile (*take)(Replay&)) {
  std::uint64_t drawn = 0;
  std::uint64_t independent = 0;
  for (std::uint64_t seed = 1; seed <= replays; ++seed) {
    Replay replay(seed);
    const results::NamedProfile profile = take(replay);
    results::NamedProfile::Listing listing = list_as_instructions(profile);
    const FunctionGrowth::Listing code = list_shares(profile, listing);
    EXPECT_TRUE(code.drawn);
    EXPECT_EQ(code.listing.instructions[0].text, "first");
    drawn += holds(code.shares.at(0), Replay::kFirst) ? 1U : 0U;
    listing.counts.clear();
    independent += holds(list_shares(profile, listing).shares.at(0), Replay::kFirst) ? 1U : 0U;
  }
  return {static_cast<double>(drawn) / static_cast<double>(replays),
          static_cast<double>(independent) / static_cast<double>(replays)};
}

TEST(ProfileShares, intervals_hold_the_truth_as_often_as_they_say) {
  const auto [first, second] = compute_coverage(150);
  EXPECT_GE(first, 0.89);  // 0.95 less three standard deviations of 150 replays
  EXPECT_GE(second, 0.89);
}

TEST(NightlyProfileShares, cover_the_truth_in_94_to_96_5_percent_of_2000_replays) {
  const auto [first, second] = compute_coverage(2000);
  RecordProperty("first", std::to_string(first));
  RecordProperty("second", std::to_string(second));
  EXPECT_GE(first, 0.94);
  EXPECT_LE(first, 0.965);
  EXPECT_GE(second, 0.94);
  EXPECT_LE(second, 0.965);
}

TEST(ProfileShares, intervals_of_merged_runs_know_how_runs_differ) {
  const auto [first, second] = compute_coverage(150, runs_of_a_fortnight);
  EXPECT_GE(first, 0.89);
  EXPECT_GE(second, 0.89);
}

TEST(NightlyProfileShares, of_merged_runs_cover_the_truth_in_2000_replays) {
  const auto [first, second] = compute_coverage(2000, runs_of_a_fortnight);
  RecordProperty("first", std::to_string(first));
  RecordProperty("second", std::to_string(second));
  EXPECT_GE(first, 0.94);
  EXPECT_LE(first, 0.965);
  EXPECT_GE(second, 0.94);
  EXPECT_LE(second, 0.965);
}

TEST(ProfileShares, intervals_of_a_side_know_how_its_processes_differ) {
  const auto [first, second] = compute_coverage(150, processes_of_a_side);
  EXPECT_GE(first, 0.89);
  EXPECT_GE(second, 0.89);
}

TEST(ProfileShares, intervals_of_changes_know_how_processes_differ) {
  const auto [by_processes, by_blocks] = compute_coverage_of_changes(150);
  EXPECT_GE(by_processes, 0.89);
  EXPECT_LT(by_blocks, 0.8) << "which know nothing of how processes differ";
}

TEST(NightlyProfileShares, of_processes_cover_the_truth_in_2000_replays) {
  const auto [first, second] = compute_coverage(2000, processes_of_a_side);
  RecordProperty("first", std::to_string(first));
  RecordProperty("second", std::to_string(second));
  EXPECT_GE(first, 0.93);
  EXPECT_LE(first, 0.97);
  EXPECT_GE(second, 0.93);
  EXPECT_LE(second, 0.97);
}

TEST(ListedCodeTest, intervals_of_instructions_are_drawn_as_those_of_functions) {
  const auto [drawn, independent] = compute_instruction_coverage(150, runs_of_a_fortnight);
  EXPECT_GE(drawn, 0.89);
  EXPECT_LT(independent, 0.8) << "which know nothing of how runs differ";
}

TEST(NightlyProfileShares, of_instructions_cover_the_truth_in_2000_replays) {
  for (const auto& [name, take] :
       {std::pair("one_run", &blocks_of_one_run), std::pair("fortnight", &runs_of_a_fortnight)}) {
    const auto [drawn, independent] = compute_instruction_coverage(2000, take);
    RecordProperty(name, std::to_string(drawn));
    RecordProperty(std::string(name) + "_independent", std::to_string(independent));
    EXPECT_GE(drawn, 0.94) << name;
    EXPECT_LE(drawn, 0.965) << name;
  }
}

}  // namespace
}  // namespace plumb::analysis
