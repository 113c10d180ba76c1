// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/profile_shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/measure/sample_summary.hpp"
#include "harness/stats/statistical_tests.hpp"

namespace plumb::analysis {
namespace {

constexpr double kLowTail = 0.025;
constexpr double kNormalQuantile = 1.959963984540054;  // of 1 - kLowTail

/// Returns a quantile of numbers, between neighbours in proportion. Reorders them.
double quantile(std::vector<double>& numbers, double probability) {
  const double place = probability * static_cast<double>(numbers.size() - 1);
  const auto below = numbers.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(numbers.begin(), below, numbers.end());
  const auto above = std::min_element(below + 1, numbers.end());
  return above == numbers.end() ? *below : *below + (place - std::floor(place)) * (*above - *below);
}

/// Adds a product with each of a group's numbers to the sums of the rounds.
void add_product(double factor, std::span<const double> numbers, std::vector<double>& sums) {
  for (std::size_t round = 0; round < sums.size(); ++round) {
    sums[round] += factor * numbers[round];
  }
}

/// Returns the group of each block.
std::vector<std::uint32_t> group_blocks(const results::NamedProfile& profile) {
  const std::vector<std::uint64_t> units = blocks_of_units(profile);
  const std::size_t count = std::min(units.size(), GroupedSamples::kMaxGroups);
  std::vector<std::uint32_t> groups;
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    groups.insert(
        groups.end(), units[unit], static_cast<std::uint32_t>(unit * count / units.size()));
  }
  PLUMB_CHECK(groups.size() == profile.blocks.size());
  return groups;
}

/// Lists the rows whose intervals a bootstrap gives.
std::vector<std::size_t> choose_rows(const GroupedSamples& samples) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < samples.rows(); ++row) {
    if (samples.samples(row) >= kFewSamples) {
      rows.push_back(row);
    }
  }
  if (rows.size() > kMaxBootstrapRows) {
    std::nth_element(rows.begin(),
                     rows.begin() + kMaxBootstrapRows,
                     rows.end(),
                     [&](std::size_t left, std::size_t right) {
                       return samples.samples(left) > samples.samples(right);
                     });
    rows.resize(kMaxBootstrapRows);
  }
  return rows;
}

}  // namespace

GroupedSamples::Share::Interval wilson_interval(std::uint64_t part, std::uint64_t whole) {
  const auto n = static_cast<double>(whole);
  const double share = static_cast<double>(part) / n;
  const double square = kNormalQuantile * kNormalQuantile;
  const double middle = (share + square / (2.0 * n)) / (1.0 + square / n);
  const double half = kNormalQuantile / (1.0 + square / n) *
                      std::sqrt(share * (1.0 - share) / n + square / (4.0 * n * n));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

std::string_view to_text(GroupedSamples::Unit unit) {
  switch (unit) {
    case GroupedSamples::Unit::kBlock:
      return "blocks";
    case GroupedSamples::Unit::kProcess:
      return "processes";
    case GroupedSamples::Unit::kRun:
      return "runs";
  }
  throw Error(Error::Kind::kInternal, "unknown unit of a bootstrap; please report this");
}

GroupedSamples::Unit drawn_unit(const results::NamedProfile& profile) {
  if (profile.runs.size() >= GroupedSamples::kMinGroups) {
    return GroupedSamples::Unit::kRun;
  }
  return profile.processes.size() >= GroupedSamples::kMinGroups ? GroupedSamples::Unit::kProcess
                                                                : GroupedSamples::Unit::kBlock;
}

std::vector<std::uint64_t> blocks_of_units(const results::NamedProfile& profile) {
  switch (drawn_unit(profile)) {
    case GroupedSamples::Unit::kBlock:
      break;
    case GroupedSamples::Unit::kProcess:
      return profile.processes;
    case GroupedSamples::Unit::kRun: {
      std::vector<std::uint64_t> blocks;
      for (const results::NamedProfile::Run& run : profile.runs) {
        blocks.push_back(run.blocks);
      }
      return blocks;
    }
  }
  return std::vector<std::uint64_t>(profile.blocks.size(), 1);
}

CellRows rows_of_cells(const results::NamedProfile& profile) {
  CellRows rows(profile.cells.size());
  std::iota(rows.begin(), rows.end(), 0U);
  return rows;
}

CellRows rows_of_steps(const results::NamedProfile& profile) {
  const auto between = static_cast<std::uint32_t>(profile.steps.size());
  CellRows rows;
  for (const results::NamedProfile::Cell& cell : profile.cells) {
    rows.push_back(cell.step == results::kNoStep ? between : cell.step);
  }
  return rows;
}

CellRows rows_of_functions(const results::NamedProfile& profile) {
  CellRows rows;
  for (const results::NamedProfile::Cell& cell : profile.cells) {
    rows.push_back(cell.function);
  }
  return rows;
}

GroupedSamples::Drawn::Drawn(std::size_t groups, std::size_t rounds)
    : groups_(groups), rounds_(rounds), numbers_(groups * rounds) {}

void GroupedSamples::Drawn::draw(std::size_t round, std::mt19937_64& random) {
  for (std::size_t i = 0; i < groups_; ++i) {
    numbers_[(random() % groups_) * rounds_ + round] += 1.0;
  }
}

GroupedSamples::GroupedSamples(const results::NamedProfile& profile,
                               const CellRows& row_of_cell,
                               std::size_t rows) {
  PLUMB_CHECK(row_of_cell.size() == profile.cells.size());
  const std::vector<std::uint32_t> group_of = group_blocks(profile);
  const std::size_t groups = group_of.empty() ? 0 : std::size_t{group_of.back()} + 1;
  totals_.resize(groups);
  seconds_.resize(groups);
  executions_.resize(groups);
  for (std::size_t block = 0; block < profile.blocks.size(); ++block) {
    seconds_[group_of[block]] += profile.blocks[block].executed().count();
    executions_[group_of[block]] += profile.blocks[block].executions;
  }
  std::vector<std::vector<std::uint32_t>> of_rows(rows);  // by row and group; empty: none
  for (std::size_t cell = 0; cell < profile.cells.size(); ++cell) {
    std::vector<std::uint32_t>& of_groups = of_rows[row_of_cell[cell]];
    of_groups.resize(totals_.size());
    for (const results::NamedProfile::Cell::Count& count : profile.cells[cell].counts) {
      of_groups[group_of.at(count.block)] += count.samples;
      totals_[group_of[count.block]] += count.samples;
    }
  }
  begins_.push_back(0);
  for (const std::vector<std::uint32_t>& of_groups : of_rows) {
    for (std::uint32_t group = 0; group < of_groups.size(); ++group) {
      if (of_groups[group] > 0) {
        counts_.push_back({group, of_groups[group]});
      }
    }
    begins_.push_back(counts_.size());
  }
}

std::uint64_t GroupedSamples::samples(std::size_t row) const {
  std::uint64_t sum = 0;
  for (std::size_t i = begins_[row]; i < begins_[row + 1]; ++i) {
    sum += counts_[i].samples;
  }
  return sum;
}

std::uint64_t GroupedSamples::samples() const {
  return std::accumulate(totals_.begin(), totals_.end(), std::uint64_t{0});
}

double GroupedSamples::execution_seconds() const {
  const double executions = std::accumulate(executions_.begin(), executions_.end(), 0.0);
  return executions > 0.0 ? std::accumulate(seconds_.begin(), seconds_.end(), 0.0) / executions
                          : 0.0;
}

std::vector<double> GroupedSamples::execution_seconds(const GroupedSamples::Drawn& drawn) const {
  std::vector<double> seconds(drawn.rounds());
  std::vector<double> executions(drawn.rounds());
  for (std::size_t group = 0; group < groups(); ++group) {
    add_product(seconds_[group], drawn.of_group(group), seconds);
    add_product(executions_[group], drawn.of_group(group), executions);
  }
  for (std::size_t round = 0; round < drawn.rounds(); ++round) {
    seconds[round] = executions[round] > 0.0 ? seconds[round] / executions[round] : 0.0;
  }
  return seconds;
}

std::vector<double> GroupedSamples::samples(const GroupedSamples::Drawn& drawn) const {
  std::vector<double> sums(drawn.rounds());
  for (std::size_t group = 0; group < groups(); ++group) {
    add_product(static_cast<double>(totals_[group]), drawn.of_group(group), sums);
  }
  return sums;
}

std::vector<double> GroupedSamples::shares(std::size_t row,
                                           const GroupedSamples::Drawn& drawn,
                                           const std::vector<double>& of_all) const {
  std::vector<double> shares(drawn.rounds());
  for (std::size_t i = begins_[row]; i < begins_[row + 1]; ++i) {
    add_product(counts_[i].samples, drawn.of_group(counts_[i].group), shares);
  }
  for (std::size_t round = 0; round < drawn.rounds(); ++round) {
    shares[round] = of_all[round] > 0.0 ? shares[round] / of_all[round] : 0.0;
  }
  return shares;
}

GroupedSamples::Share::Interval bootstrap_interval(double estimate,
                                                   std::vector<double>& values,
                                                   std::size_t groups) {
  PLUMB_CHECK(groups > 1 && !values.empty());
  const auto units = static_cast<double>(groups);
  const double wider = stats::t_quantile(1.0 - kLowTail, units - 1.0) / kNormalQuantile *
                       std::sqrt(units / (units - 1.0));
  return {estimate + (quantile(values, kLowTail) - estimate) * wider,
          estimate + (quantile(values, 1.0 - kLowTail) - estimate) * wider};
}

std::vector<GroupedSamples::Share> compute_shares(const GroupedSamples& samples,
                                                  std::uint64_t seed) {
  const std::uint64_t whole = samples.samples();
  std::vector<GroupedSamples::Share> shares(samples.rows());
  const bool intervals = samples.groups() >= GroupedSamples::kMinGroups && whole > 0;
  for (std::size_t row = 0; row < shares.size(); ++row) {
    shares[row].samples = samples.samples(row);
    if (whole > 0) {
      shares[row].share = static_cast<double>(shares[row].samples) / static_cast<double>(whole);
    }
    if (intervals) {
      shares[row].interval = wilson_interval(shares[row].samples, whole);
    }
  }
  if (!intervals) {
    return shares;
  }
  GroupedSamples::Drawn drawn(samples.groups(), kBootstrapRounds);
  std::mt19937_64 random(seed);
  for (std::size_t round = 0; round < kBootstrapRounds; ++round) {
    drawn.draw(round, random);
  }
  const std::vector<double> of_all = samples.samples(drawn);
  for (const std::size_t row : choose_rows(samples)) {
    GroupedSamples::Share& share = shares[row];
    std::vector<double> values = samples.shares(row, drawn, of_all);
    const GroupedSamples::Share::Interval interval =
        bootstrap_interval(share.share, values, samples.groups());
    share.interval = {std::max(0.0, interval.low), std::min(1.0, interval.high)};
  }
  return shares;
}

namespace {

/// Sets the cost from the pairs of blocks, whose executions are equally many.
void compute_cost(const results::NamedProfile& profile, ProfileSummary& summary) {
  std::vector<Seconds> ratios;  // without unit: the summary of samples is one of times
  for (const results::SampledProfile::Block& block : profile.blocks) {
    if (block.unsampled > Seconds(0.0)) {
      ratios.emplace_back(block.sampled / block.unsampled);
    }
  }
  const measure::SampleSummary ratio = measure::summarize(ratios);
  summary.pairs = ratios.size();
  if (ratios.empty()) {
    return;
  }
  summary.cost = ratio.median.count() - 1.0;
  if (measure::median_interval_rank(ratios.size())) {
    summary.cost_interval = {ratio.interval.low.count() - 1.0, ratio.interval.high.count() - 1.0};
  }
}

}  // namespace

ProfileSummary summarize_profile(const results::NamedProfile& profile) {
  ProfileSummary summary;
  std::uint64_t in_steps = 0;
  std::uint64_t in_functions = 0;
  for (const results::NamedProfile::Cell& cell : profile.cells) {
    std::uint64_t samples = 0;
    for (const results::NamedProfile::Cell::Count& count : cell.counts) {
      samples += count.samples;
    }
    summary.samples += samples;
    in_steps += cell.step == results::kNoStep ? 0 : samples;
    in_functions += profile.functions.at(cell.function).name.empty() ? 0 : samples;
  }
  if (summary.samples > 0) {
    const auto whole = static_cast<double>(summary.samples);
    summary.in_steps = static_cast<double>(in_steps) / whole;
    summary.in_functions = static_cast<double>(in_functions) / whole;
  }
  Seconds executed{};
  for (const results::SampledProfile::Block& block : profile.blocks) {
    summary.executions += block.executions;
    executed += block.executed();
  }
  if (summary.executions > 0) {
    summary.execution = executed / static_cast<double>(summary.executions);
  }
  compute_cost(profile, summary);
  return summary;
}

bool is_always_sampled(const results::NamedProfile& profile) {
  return !profile.blocks.empty() &&
         std::none_of(profile.blocks.begin(), profile.blocks.end(), [](const auto& block) {
           return block.unsampled > Seconds(0.0);
         });
}

std::string name_of(const results::NamedProfile::CodeNames::Function& function) {
  if (!function.name.empty()) {
    return function.name;
  }
  return function.image.starts_with('[') ? function.image : fmt::format("[{}]", function.image);
}

std::string step_name(const results::NamedProfile& profile, std::uint32_t step) {
  return step == results::kNoStep ? "(between steps)" : profile.step_names.at(step);
}

}  // namespace plumb::analysis
