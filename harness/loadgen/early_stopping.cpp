// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/early_stopping.hpp"

#include <boost/math/special_functions/beta.hpp>
#include <cmath>

#include "harness/base/error.hpp"

namespace plumb::loadgen {
namespace {

/// Returns whether `over` latencies above the bound are few enough of `queries`. Needs over <
/// queries.
bool is_enough(const ConfidenceRule& rule, std::uint64_t queries, std::uint64_t over) {
  const double tail = boost::math::ibeta(static_cast<double>(queries - over),
                                         static_cast<double>(over) + 1.0,
                                         fraction_of(rule.percentile));
  return tail < 1.0 - rule.confidence;
}

}  // namespace

double fraction_of(double percent) {
  return std::round(percent * 1e7) / 1e9;
}

std::uint64_t queries_needed(const ConfidenceRule& rule, std::uint64_t over) {
  PLUMB_CHECK(rule.percentile > 0.0 && rule.percentile < 100.0 && rule.confidence < 1.0);
  std::uint64_t too_few = over;
  std::uint64_t enough = over + 1;
  while (!is_enough(rule, enough, over)) {
    too_few = enough;
    enough *= 2;
  }
  while (enough - too_few > 1) {
    const std::uint64_t middle = too_few + (enough - too_few) / 2;
    (is_enough(rule, middle, over) ? enough : too_few) = middle;
  }
  return enough;
}

std::optional<std::uint64_t> estimate_rank(const ConfidenceRule& rule, std::uint64_t queries) {
  PLUMB_CHECK(rule.percentile > 0.0 && rule.percentile < 100.0 && rule.confidence < 1.0);
  if (queries < 2 || !is_enough(rule, queries, 1)) {
    return std::nullopt;
  }
  // The claim only becomes harder with more latencies over the bound, so one bisection finds the
  // last.
  std::uint64_t few = 1;
  std::uint64_t too_many = queries;
  while (too_many - few > 1) {
    const std::uint64_t middle = few + (too_many - few) / 2;
    (is_enough(rule, queries, middle) ? few : too_many) = middle;
  }
  return few;
}

}  // namespace plumb::loadgen
