// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/matrix/pareto_front.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "harness/base/error.hpp"

namespace plumb::analysis {
namespace {

std::int64_t read_batch(const std::string& column) {
  std::int64_t batch = 0;
  const char* const end = column.data() + column.size();
  PLUMB_CHECK(std::from_chars(column.data(), end, batch).ptr == end);
  return batch;
}

LimitVerdict judge(const Estimate& seconds, double limit) {
  if (seconds.high.value_or(seconds.value) <= limit) {
    return LimitVerdict::kKept;
  }
  return seconds.low.value_or(seconds.value) > limit ? LimitVerdict::kMissed
                                                     : LimitVerdict::kUncertain;
}

/// Returns whether one point is as good as another in both, and better in one.
bool dominates(const ParetoFront::Point& one, const ParetoFront::Point& other) {
  const double faster = other.seconds.value - one.seconds.value;
  const double more = one.inputs_per_second.value - other.inputs_per_second.value;
  return faster >= 0.0 && more >= 0.0 && (faster > 0.0 || more > 0.0);
}

ParetoFront front_of(const Matrix& times, const Matrix::Row& row, std::optional<Seconds> limit) {
  ParetoFront front{.name = row.name, .points = {}, .absent = {}, .best = {}};
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const std::int64_t batch = read_batch(times.columns[i]);
    const MatrixCell& cell = row.cells[i];
    if (!cell.value) {
      front.absent.push_back({batch, cell.missing});
      continue;
    }
    const double inputs = static_cast<double>(std::max<std::int64_t>(batch, 1));
    ParetoFront::Point point{.batch = batch,
                             .seconds = *cell.value,
                             .inputs_per_second = rate_of(inputs, *cell.value),
                             .on_front = false,
                             .limit = {}};
    if (limit) {
      point.limit = judge(*cell.value, limit->count());
    }
    front.points.push_back(point);
  }
  for (std::size_t i = 0; i < front.points.size(); ++i) {
    ParetoFront::Point& point = front.points[i];
    point.on_front = std::none_of(
        front.points.begin(), front.points.end(), [&](const ParetoFront::Point& other) {
          return dominates(other, point);
        });
    if (point.limit == LimitVerdict::kKept &&
        (!front.best ||
         point.inputs_per_second.value > front.points[*front.best].inputs_per_second.value)) {
      front.best = i;
    }
  }
  return front;
}

}  // namespace

std::string_view to_text(LimitVerdict verdict) {
  constexpr std::array<std::string_view, 3> kNames{"kept", "uncertain", "missed"};
  return kNames.at(static_cast<std::size_t>(verdict));
}

std::vector<ParetoFront> pareto_fronts(const Matrix& times, std::optional<Seconds> limit) {
  PLUMB_CHECK(times.query.columns == Axis::kBatch && !times.reference);
  std::vector<ParetoFront> fronts;
  for (const Matrix::Row& row : times.rows) {
    fronts.push_back(front_of(times, row, limit));
  }
  return fronts;
}

}  // namespace plumb::analysis
