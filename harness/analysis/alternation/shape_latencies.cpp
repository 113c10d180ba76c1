// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/alternation/shape_latencies.hpp"

#include <array>
#include <cmath>
#include <random>

#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"

namespace plumb::analysis {
namespace {

constexpr std::array<std::string_view, 2> kOrders{"in_turn", "drawn"};

}  // namespace

std::string_view to_text(AlternationReport::Order order) {
  return enum_text(kOrders, order);
}

std::optional<AlternationReport::Order> parse_alternation_order(std::string_view text) {
  return parse_enum<AlternationReport::Order>(kOrders, text);
}

std::vector<std::uint32_t> make_alternation(std::size_t shapes,
                                            std::size_t executions,
                                            AlternationReport::Order order,
                                            std::uint64_t seed) {
  std::vector<std::uint32_t> sequence;
  for (std::uint32_t shape = 0; shape < shapes; ++shape) {
    sequence.insert(sequence.end(), kOpeningExecutions, shape);
  }
  std::mt19937_64 numbers(seed);
  for (std::size_t i = 0; i < 2 * shapes * executions; ++i) {
    const std::uint64_t next = order == AlternationReport::Order::kDrawn ? numbers() : i / 2;
    sequence.push_back(static_cast<std::uint32_t>(next % shapes));
  }
  return sequence;
}

std::optional<measure::MeasuredTime> AlternationReport::Shape::change() const {
  if (steady.n == 0 || changed.n == 0) {
    return std::nullopt;
  }
  const Seconds change = changed.median - steady.median;
  const auto below = [](const measure::SampleSummary& of) { return of.median - of.interval.low; };
  const auto above = [](const measure::SampleSummary& of) { return of.interval.high - of.median; };
  const auto root = [](Seconds one, Seconds other) {
    return Seconds(std::hypot(one.count(), other.count()));
  };
  return measure::MeasuredTime{
      change,
      {change - root(below(changed), above(steady)), change + root(above(changed), below(steady))}};
}

std::vector<ShapeTimes> sort_alternation(std::size_t shapes,
                                         std::span<const std::uint32_t> sequence,
                                         std::span<const Seconds> seconds) {
  PLUMB_CHECK(sequence.size() == seconds.size());
  std::vector<ShapeTimes> times(shapes);
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    ShapeTimes& shape = times.at(sequence[i]);
    if (shape.empty()) {
      shape[results::SeriesName::Turn::kFirst].push_back(seconds[i]);
    } else if (i >= shapes * kOpeningExecutions) {
      const bool same = sequence[i - 1] == sequence[i];
      shape[same ? results::SeriesName::Turn::kSteady : results::SeriesName::Turn::kChanged]
          .push_back(seconds[i]);
    }
  }
  for (const ShapeTimes& shape : times) {
    PLUMB_CHECK(!shape.empty());
  }
  return times;
}

std::vector<AlternationReport::Shape> summarize_alternation(std::span<const std::string> shapes,
                                                            std::span<const std::uint32_t> sequence,
                                                            std::span<const Seconds> seconds) {
  std::vector<ShapeTimes> times = sort_alternation(shapes.size(), sequence, seconds);
  std::vector<AlternationReport::Shape> latencies;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    latencies.push_back({shapes[i],
                         times[i][results::SeriesName::Turn::kFirst].front(),
                         measure::summarize(times[i][results::SeriesName::Turn::kSteady]),
                         measure::summarize(times[i][results::SeriesName::Turn::kChanged])});
  }
  return latencies;
}

}  // namespace plumb::analysis
