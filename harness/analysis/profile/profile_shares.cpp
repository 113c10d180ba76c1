// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/profile_shares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/base/error.hpp"
#include "harness/stats/student_t.hpp"

namespace plumb::analysis {
namespace {

constexpr double kLowTail = 0.025;
constexpr double kNormalQuantile = 1.959963984540054;  // of 1 - kLowTail

/// Returns a quantile of sorted numbers, between neighbours in proportion.
double quantile(const std::vector<double>& sorted, double probability) {
  const double place = probability * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// Returns Wilson's interval of a share of independent samples (Brown, Cai and DasGupta,
/// "Interval Estimation for a Binomial Proportion", 2001, §3.1.1).
NumberInterval wilson_interval(std::uint64_t part, std::uint64_t whole) {
  const auto n = static_cast<double>(whole);
  const double share = static_cast<double>(part) / n;
  const double square = kNormalQuantile * kNormalQuantile;
  const double middle = (share + square / (2.0 * n)) / (1.0 + square / n);
  const double half = kNormalQuantile / (1.0 + square / n) *
                      std::sqrt(share * (1.0 - share) / n + square / (4.0 * n * n));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
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

CellRows rows_of_cells(const results::NamedProfile& profile) {
  CellRows rows(profile.cells.size());
  std::iota(rows.begin(), rows.end(), 0U);
  return rows;
}

CellRows rows_of_functions(const results::NamedProfile& profile) {
  CellRows rows;
  for (const results::ProfileCell& cell : profile.cells) {
    rows.push_back(cell.function);
  }
  return rows;
}

GroupedSamples::GroupedSamples(const results::NamedProfile& profile,
                               const CellRows& row_of_cell,
                               std::size_t rows)
    : totals_(std::min(profile.blocks.size(), kMaxGroups)),
      seconds_(totals_.size()),
      executions_(totals_.size()) {
  PLUMB_CHECK(row_of_cell.size() == profile.cells.size());
  const auto group_of = [&](std::size_t block) {
    return static_cast<std::uint32_t>(block * totals_.size() / profile.blocks.size());
  };
  for (std::size_t block = 0; block < profile.blocks.size(); ++block) {
    seconds_[group_of(block)] += profile.blocks[block].unsampled.count();
    executions_[group_of(block)] += profile.blocks[block].executions;
  }
  std::vector<std::vector<std::uint32_t>> of_rows(rows);  // by row and group; empty: none
  for (std::size_t cell = 0; cell < profile.cells.size(); ++cell) {
    std::vector<std::uint32_t>& of_groups = of_rows[row_of_cell[cell]];
    of_groups.resize(totals_.size());
    for (const results::ProfileCell::Count& count : profile.cells[cell].counts) {
      of_groups[group_of(count.block)] += count.samples;
      totals_[group_of(count.block)] += count.samples;
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

double GroupedSamples::execution_seconds(const std::vector<std::uint32_t>& weights) const {
  double seconds = 0.0;
  double executions = 0.0;
  for (std::size_t group = 0; group < groups(); ++group) {
    seconds += weights[group] * seconds_[group];
    executions += weights[group] * executions_[group];
  }
  return executions > 0.0 ? seconds / executions : 0.0;
}

std::vector<double> GroupedSamples::shares(const std::vector<std::uint32_t>& weights) const {
  double whole = 0.0;
  for (std::size_t group = 0; group < groups(); ++group) {
    whole += weights[group] * static_cast<double>(totals_[group]);
  }
  std::vector<double> shares(rows());
  for (std::size_t row = 0; row < rows() && whole > 0.0; ++row) {
    std::uint64_t part = 0;
    for (std::size_t i = begins_[row]; i < begins_[row + 1]; ++i) {
      part += std::uint64_t{weights[counts_[i].group]} * counts_[i].samples;
    }
    shares[row] = static_cast<double>(part) / whole;
  }
  return shares;
}

std::vector<std::uint32_t> draw_groups(std::size_t groups, std::mt19937_64& random) {
  std::vector<std::uint32_t> weights(groups);
  for (std::size_t i = 0; i < groups; ++i) {
    ++weights[random() % groups];
  }
  return weights;
}

NumberInterval bootstrap_interval(double estimate,
                                  std::vector<double>& values,
                                  std::size_t groups) {
  PLUMB_CHECK(groups > 1 && !values.empty());
  std::sort(values.begin(), values.end());
  const auto units = static_cast<double>(groups);
  const double wider = stats::t_quantile(1.0 - kLowTail, units - 1.0) / kNormalQuantile *
                       std::sqrt(units / (units - 1.0));
  return {estimate + (quantile(values, kLowTail) - estimate) * wider,
          estimate + (quantile(values, 1.0 - kLowTail) - estimate) * wider};
}

std::vector<ProfileShare> compute_shares(const GroupedSamples& samples, std::uint64_t seed) {
  const std::uint64_t whole = samples.samples();
  std::vector<ProfileShare> shares(samples.rows());
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
  const std::vector<std::size_t> chosen = choose_rows(samples);
  std::vector<std::vector<double>> values(chosen.size());
  std::mt19937_64 random(seed);
  for (std::size_t round = 0; round < kBootstrapRounds; ++round) {
    const std::vector<double> drawn = samples.shares(draw_groups(samples.groups(), random));
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      values[i].push_back(drawn[chosen[i]]);
    }
  }
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    ProfileShare& share = shares[chosen[i]];
    const NumberInterval interval = bootstrap_interval(share.share, values[i], samples.groups());
    share.interval = {std::max(0.0, interval.low), std::min(1.0, interval.high)};
  }
  return shares;
}

}  // namespace plumb::analysis
