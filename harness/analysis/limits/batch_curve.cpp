// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/limits/batch_curve.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

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

namespace {

constexpr std::size_t kMaxCompared = 300;  // layers that are alike: each is compared with each

using Places = std::vector<std::size_t>;  // of numbers in a key
using Numbers = std::vector<std::int64_t>;

/// Layer with the numbers of its key.
struct NumberedLayer {
  Numbers numbers;
  const SingleLayerResult* layer = nullptr;
};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/// Takes the numbers out of a key and returns the text around them. Digits of a word, as of a
/// type, are text.
std::string take_numbers(std::string_view key, Numbers& numbers) {
  std::string text;
  for (std::size_t begin = 0; begin < key.size();) {
    std::size_t end = begin;
    while (end < key.size() && is_word(key[end])) {
      ++end;
    }
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(key.data() + begin, key.data() + end, number);
    if (end > begin && error == std::errc() && rest == key.data() + end) {
      numbers.push_back(number);
      text += '#';
    } else {
      text += key.substr(begin, end - begin);
    }
    text += key.substr(end, 1);
    begin = end + 1;
  }
  return text;
}

Places differing_places(const Numbers& one, const Numbers& other) {
  Places places;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i] != other[i]) {
      places.push_back(i);
    }
  }
  return places;
}

/// Adds the cliffs among layers whose keys differ in numbers alone.
void add_cliffs(const std::vector<NumberedLayer>& alike, std::vector<RateCliff>& cliffs) {
  // By the places of the extent, which all hold it, and by all other numbers.
  std::map<std::pair<Places, Numbers>, std::map<std::int64_t, const SingleLayerResult*>> groups;
  const auto add = [&](const Places& places, const NumberedLayer& row) {
    const std::int64_t extent = row.numbers[places.front()];
    Numbers others = row.numbers;
    for (const std::size_t place : places) {
      if (std::exchange(others[place], 0) != extent) {
        return;
      }
    }
    groups[{places, std::move(others)}].emplace(extent, row.layer);
  };
  for (std::size_t i = 0; i < alike.size(); ++i) {
    for (std::size_t j = i + 1; j < alike.size(); ++j) {
      const Places places = differing_places(alike[i].numbers, alike[j].numbers);
      if (!places.empty()) {
        add(places, alike[i]);
        add(places, alike[j]);
      }
    }
  }
  for (const auto& [differing, layers] : groups) {
    if (layers.size() >= kMinPoints) {
      RateCliff& cliff = cliffs.emplace_back();
      for (const auto& [extent, layer] : layers) {
        const double seconds = layer->time->time.median.count();
        cliff.points.push_back({extent, static_cast<double>(layer->cost.macs) / seconds, layer});
      }
    }
  }
}

}  // namespace

double RateCliff::steepest() const {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < points.size(); ++i) {
    least = std::min(least, points[i].macs_per_second / points[i - 1].macs_per_second);
  }
  return least;
}

std::vector<RateCliff> find_cliffs(std::span<const SingleLayerResult> layers) {
  std::map<std::string, std::vector<NumberedLayer>> alike;
  for (const SingleLayerResult& layer : layers) {
    if (!layer.time || layer.time->time.median <= Seconds{} || layer.cost.macs <= 0) {
      continue;
    }
    NumberedLayer row{{}, &layer};
    std::vector<NumberedLayer>& same = alike[take_numbers(layer.layer.key.text, row.numbers)];
    if (same.size() < kMaxCompared) {
      same.push_back(std::move(row));
    }
  }
  std::vector<RateCliff> cliffs;
  for (const auto& [text, same] : alike) {
    add_cliffs(same, cliffs);
  }
  std::stable_sort(cliffs.begin(), cliffs.end(), [](const RateCliff& one, const RateCliff& other) {
    return one.steepest() < other.steepest();
  });
  return cliffs;
}

}  // namespace plumb::analysis
