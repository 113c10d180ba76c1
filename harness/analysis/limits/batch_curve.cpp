// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/limits/batch_curve.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace plumb::analysis {
namespace {

constexpr std::size_t kMinPoints = 3;

/// Returns the smallest batch that is good enough. Absent: only the largest is.
std::optional<std::int64_t> find_knee(const std::vector<BatchCurve::Point>& points) {
  double highest = 0.0;
  for (const BatchCurve::Point& point : points) {
    highest = std::max(highest, point.throughput());
  }
  for (const BatchCurve::Point& point : points) {
    if (point.throughput() >= kKneeShare * highest && point.batch != points.back().batch) {
      return point.batch;
    }
  }
  return std::nullopt;
}

const ExecutionTime* execution_in(const ModelBounds& model, std::string_view mode) {
  const auto found = std::find_if(
      model.executions.begin(), model.executions.end(), [&](const ExecutionTime& each) {
        return each.mode == mode && each.samples > 0 && each.median > Seconds{};
      });
  return found == model.executions.end() ? nullptr : &*found;
}

}  // namespace

std::vector<BatchCurve> compute_batch_curves(std::span<const ModelBounds> models) {
  using Identity =
      std::tuple<std::string, std::string, std::map<std::string, std::int64_t>, std::string>;
  std::map<Identity, std::map<std::int64_t, BatchCurve::Point>> found;
  for (const ModelBounds& model : models) {
    const ModelInstance& instance = model.instance;
    for (const ExecutionTime& execution : model.executions) {
      if (execution.samples > 0 && execution.median > Seconds{}) {
        found[{full_name(instance), instance.dtype, instance.dims, execution.mode}].try_emplace(
            instance.batch,
            BatchCurve::Point{instance.batch, execution.median, execution.interval});
      }
    }
  }
  std::vector<BatchCurve> curves;
  for (const auto& [identity, by_batch] : found) {
    if (by_batch.size() < kMinPoints) {
      continue;
    }
    BatchCurve& curve = curves.emplace_back();
    std::tie(curve.model, curve.dtype, curve.dims, curve.mode) = identity;
    for (const auto& [batch, point] : by_batch) {
      curve.points.push_back(point);
    }
    curve.knee = find_knee(curve.points);
  }
  return curves;
}

std::vector<CapturedGraphs> sum_captured_graphs(std::span<const ModelBounds> models) {
  std::map<std::pair<std::string, std::string>, CapturedGraphs> sums;
  for (const ModelBounds& model : models) {
    const ExecutionTime* const captured = execution_in(model, "captured");
    const ExecutionTime* const eager = execution_in(model, "eager");
    if (captured != nullptr && eager != nullptr) {
      CapturedGraphs& sum = sums[{full_name(model.instance), model.instance.dtype}];
      sum.model = full_name(model.instance);
      sum.dtype = model.instance.dtype;
      ++sum.graphs;
      sum.memory += captured->memory;
      sum.saved += eager->median - captured->median;
    }
  }
  std::vector<CapturedGraphs> list;
  for (auto& [identity, sum] : sums) {
    list.push_back(std::move(sum));
  }
  return list;
}

}  // namespace plumb::analysis
