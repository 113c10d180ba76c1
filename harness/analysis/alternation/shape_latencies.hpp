// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/measure/sample_summary.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {

/// Executions of each shape by itself at the beginning. Only the very first of them counts.
inline constexpr std::size_t kOpeningExecutions = 3;

/// Times of one of the shapes that alternate, by what was executed before. There is one first time.
using ShapeTimes = std::map<results::SeriesName::Turn, std::vector<Seconds>>;

/// Sorts the times of a sequence by shape and turn. `seconds` are those of `sequence`, in its
/// order. Those by which a shape begins count for the first alone. Every shape is executed at least
/// once.
[[nodiscard]] std::vector<ShapeTimes> sort_alternation(std::size_t shapes,
                                                       std::span<const std::uint32_t> sequence,
                                                       std::span<const Seconds> seconds);

/// Result of `plumb alternate`.
struct AlternationReport {
  /// Order in which shapes alternate.
  enum class Order {
    kInTurn,  ///< the first twice, the second twice … the first again
    kDrawn,   ///< each drawn from a seed, so that a shape may follow itself
  };

  /// Latencies of one of the shapes that alternate.
  struct Shape {
    std::string shape;               ///< of the inputs: "1×3×224×224"
    Seconds first{};                 ///< of the very first execution
    measure::SampleSummary steady;   ///< behind an execution of the same shape
    measure::SampleSummary changed;  ///< behind one of another shape

    /// Returns what a change of the shape costs: changed less steady. The half-widths of both add
    /// as the root of the sum of their squares. Absent: one has no time.
    [[nodiscard]] std::optional<measure::MeasuredTime> change() const;
  };

  std::string model;
  std::string dtype;
  std::string mode;
  std::string stack;
  Order order = Order::kInTurn;
  std::uint64_t seed = 1;
  std::size_t executions = 0;  ///< of all shapes
  bool one_program = false;    ///< for all shapes; else each shape has one
  Seconds preparation{};       ///< of the one program
  bool disturbed = false;      ///< the rest of the machine disturbed the executions
  std::vector<Shape> shapes;
};

[[nodiscard]] std::string_view to_text(AlternationReport::Order order);  ///< "in_turn", "drawn"

[[nodiscard]] std::optional<AlternationReport::Order> parse_alternation_order(
    std::string_view text);

/// Makes a sequence of executions, as indices of `shapes` shapes.
///
/// It begins with kOpeningExecutions of each shape. Then the shapes alternate: in turn, each is
/// executed `executions` times behind another shape and as often behind itself, so that what drifts
/// affects both alike. Drawn, there are as many executions.
[[nodiscard]] std::vector<std::uint32_t> make_alternation(std::size_t shapes,
                                                          std::size_t executions,
                                                          AlternationReport::Order order,
                                                          std::uint64_t seed);

/// Sums up the times of a sequence for each of the shapes, as sort_alternation() sorts them.
[[nodiscard]] std::vector<AlternationReport::Shape> summarize_alternation(
    std::span<const std::string> shapes,
    std::span<const std::uint32_t> sequence,
    std::span<const Seconds> seconds);

}  // namespace plumb::analysis
