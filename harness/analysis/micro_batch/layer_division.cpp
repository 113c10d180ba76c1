// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/micro_batch/layer_division.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/labels/variant_id.hpp"

namespace plumb::analysis {
namespace {

/// Division as the dynamic programmes build it: one part, and the rest's place in a table.
struct Link {
  Seconds time{};
  Bytes workspace;
  std::size_t kernel = 0;
  std::int64_t rest = 0;    // the batch that is left; 0: nothing
  std::size_t rest_at = 0;  // among the divisions of the rest
};

using Front = std::vector<Link>;  // by ascending workspace and descending time

/// Keeps of all links those that no other beats, ascending in workspace.
Front pareto(Front links) {
  std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) {
    return std::pair(a.workspace, a.time) < std::pair(b.workspace, b.time);
  });
  Front front;
  for (const Link& link : links) {
    if (front.empty() || link.time < front.back().time) {
      front.push_back(link);
    }
  }
  return front;
}

/// Fronts of all batches from 0 to `batch`. With `cap`, only the fastest division of each is kept.
std::vector<Front> fronts(std::span<const LayerDivision::Batch::Part> kernels,
                          std::int64_t batch,
                          std::optional<Bytes> cap) {
  PLUMB_CHECK(batch > 0);
  std::vector<Front> of(static_cast<std::size_t>(batch) + 1);
  of[0] = {Link{}};
  for (std::int64_t size = 1; size <= batch; ++size) {
    Front links;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const LayerDivision::Batch::Part& kernel = kernels[i];
      // The smallest part of a division is at most half of it, or the whole.
      const bool part = kernel.batch == size || 2 * kernel.batch <= size;
      if (kernel.batch < 1 || !part || (cap && kernel.workspace > *cap)) {
        continue;
      }
      const std::int64_t rest = size - kernel.batch;
      const Front& smaller = of[static_cast<std::size_t>(rest)];
      for (std::size_t at = 0; at < smaller.size(); ++at) {
        links.push_back({kernel.time + smaller[at].time,
                         std::max(kernel.workspace, smaller[at].workspace),
                         i,
                         rest,
                         at});
      }
    }
    Front& front = of[static_cast<std::size_t>(size)];
    front = pareto(std::move(links));
    if (cap && front.size() > 1) {
      front = {front.back()};
    }
  }
  return of;
}

LayerDivision::Batch unroll(std::span<const LayerDivision::Batch::Part> kernels,
                            const std::vector<Front>& of,
                            const Link& whole) {
  LayerDivision::Batch division{{}, whole.time, whole.workspace};
  const Link* link = &whole;
  while (true) {
    division.parts.push_back(kernels[link->kernel]);
    if (link->rest == 0) {
      break;
    }
    link = &of[static_cast<std::size_t>(link->rest)][link->rest_at];
  }
  std::stable_sort(division.parts.begin(),
                   division.parts.end(),
                   [](const LayerDivision::Batch::Part& a, const LayerDivision::Batch::Part& b) {
                     return a.batch > b.batch;
                   });
  return division;
}

}  // namespace

std::vector<std::int64_t> batch_sizes(results::VariantId::DivisionRule::Policy policy,
                                      std::int64_t batch) {
  PLUMB_CHECK(batch > 0);
  std::vector<std::int64_t> sizes;
  const std::int64_t first =
      policy == results::VariantId::DivisionRule::Policy::kUndivided ? batch : 1;
  const auto next = [&](std::int64_t size) {
    return policy == results::VariantId::DivisionRule::Policy::kPowersOfTwo ? 2 * size : size + 1;
  };
  for (std::int64_t size = first; size < batch; size = next(size)) {
    sizes.push_back(size);
  }
  sizes.push_back(batch);
  return sizes;
}

std::optional<LayerDivision::Batch> fastest_division(
    std::span<const LayerDivision::Batch::Part> kernels, std::int64_t batch, Bytes cap) {
  const std::vector<Front> of = fronts(kernels, batch, cap);
  if (of.back().empty()) {
    return std::nullopt;
  }
  return unroll(kernels, of, of.back().front());
}

std::vector<LayerDivision::Batch> desirable_divisions(
    std::span<const LayerDivision::Batch::Part> kernels, std::int64_t batch) {
  const std::vector<Front> of = fronts(kernels, batch, {});
  std::vector<LayerDivision::Batch> divisions;
  for (const Link& link : of.back()) {
    divisions.push_back(unroll(kernels, of, link));
  }
  return divisions;
}

namespace {

/// Returns the largest workspace that rows of a variant report.
Bytes workspace_of(const ResultSet& results,
                   const model::LayerKey& key,
                   const std::string& variant) {
  Bytes workspace;
  for (const results::StoredMeasurement* row : results.rows_of(key)) {
    if (row->measurement.variant == variant) {
      workspace = std::max(workspace, row->measurement.workspace);
    }
  }
  return workspace;
}

/// Returns the time that counts for one size. Absent: nothing keeps the cap.
std::optional<KeyTime> time_within(const ResultSet& results,
                                   const model::LayerKey& key,
                                   Bytes cap) {
  const auto keeps = [&](const KeyTime& time) {
    return workspace_of(results, key, time.variant) <= cap;
  };
  std::optional<KeyTime> choice = results.library_choice(key, results::CacheMode::kNone);
  if (choice && keeps(*choice)) {
    return choice;
  }
  const std::vector<KeyTime> all = results.variant_times(key, results::CacheMode::kNone);
  const auto fastest = std::find_if(all.begin(), all.end(), keeps);
  return fastest == all.end() ? std::nullopt : std::optional(*fastest);
}

/// Writes the variant of parts, which come largest first.
std::string text_of(const std::vector<LayerDivision::Batch::Part>& parts) {
  std::vector<results::VariantId::Parts> equal;
  for (const LayerDivision::Batch::Part& part : parts) {
    if (!equal.empty() && equal.back().batch == part.batch &&
        equal.back().variant == part.variant) {
      ++equal.back().count;
    } else {
      equal.push_back({1, part.batch, part.variant});
    }
  }
  return results::divided_variant(equal);
}

/// What it takes to add the results of one part to those of the parts before.
struct Additions {
  std::vector<LayerDivision::Step> steps;
  Seconds time{};
  Bytes bytes;          ///< that hold the part's results
  std::string missing;  ///< the first layer without a time

  Additions(const ResultSet& results, const model::LayerSpec& spec) {
    for (const model::LayerKey& key : model::part_additions(spec)) {
      const auto choice = results.library_choice(key, results::CacheMode::kNone);
      if (!choice) {
        missing = missing.empty() ? key.text : missing;
        continue;
      }
      steps.push_back({key, *choice});
      time += choice->time.median;
      bytes += model::byte_size(model::parse_key(key).outputs.at(0));
    }
  }
};

}  // namespace

std::vector<std::int64_t> part_sizes(const model::LayerSpec& spec,
                                     results::VariantId::DivisionRule::Policy policy) {
  const std::optional<std::int64_t> batch = model::find_batch(spec);
  return batch.value_or(1) > 1 ? batch_sizes(policy, *batch) : std::vector<std::int64_t>{};
}

Seconds LayerDivision::time() const {
  Seconds sum{};
  for (const Step& step : steps) {
    sum += step.time.time.median;
  }
  return sum;
}

LayerDivision divide_layer(const ResultSet& results,
                           const model::LayerSpec& spec,
                           const results::VariantId::DivisionRule& rule) {
  LayerDivision layer;
  const Bytes cap = rule.workspace_cap;
  const std::vector<std::int64_t> sizes = part_sizes(spec, rule.policy);
  if (sizes.empty()) {
    layer.why_not = "it has no batch to divide";
    return layer;
  }
  const Additions additions(results, spec);
  std::map<std::int64_t, LayerDivision::Step> times;
  std::vector<LayerDivision::Batch::Part> kernels;
  for (const std::int64_t size : sizes) {
    const bool whole = size == sizes.back();
    const model::LayerKey key = model::to_key(model::with_batch(spec, size));
    const Bytes added{whole ? 0 : additions.bytes.value};
    if (!results.best(key, results::CacheMode::kNone)) {
      layer.missing.push_back(size);
    } else if (const std::optional<KeyTime> time =
                   time_within(results, key, {cap.value - added.value})) {
      // One addition less than parts is needed, so that all divisions cost one too many.
      kernels.push_back({size,
                         time->time.median + additions.time,
                         workspace_of(results, key, time->variant) + added,
                         time->variant});
      times.emplace(size, LayerDivision::Step{key, *time});
    }
  }
  if (!layer.missing.empty() || !additions.missing.empty()) {
    layer.why_not = layer.missing.empty()
                        ? fmt::format("no time of {}", additions.missing)
                        : fmt::format("no time of a batch of {}", layer.missing.front());
    return layer;
  }
  const std::optional<LayerDivision::Batch> division = fastest_division(kernels, sizes.back(), cap);
  if (!division) {
    layer.why_not = fmt::format("no variant keeps {} bytes of workspace", cap.value);
    return layer;
  }
  for (const LayerDivision::Batch::Part& part : division->parts) {
    layer.steps.push_back(times.at(part.batch));
  }
  layer.parts = layer.steps.size();
  for (std::size_t i = 1; i < layer.parts; ++i) {
    layer.steps.insert(layer.steps.end(), additions.steps.begin(), additions.steps.end());
  }
  layer.variant = layer.parts == 1 ? layer.steps.front().time.variant : text_of(division->parts);
  const std::optional<KeyTime> choice =
      results.library_choice(model::to_key(spec), results::CacheMode::kNone);
  layer.own_choice = layer.parts == 1 && choice && choice->variant == layer.variant;
  return layer;
}

namespace {

/// Part of a solution: one choice for each layer so far.
struct Partial {
  std::int64_t bytes = 0;
  Seconds time{};
  std::size_t before = 0;  // index into the partial solutions of the layer before
  std::size_t choice = 0;
};

/// Workspace that a layer may add beyond its smallest choice, and what that saves.
struct Increment {
  std::int64_t bytes = 0;
  Seconds saving{};
  std::size_t layer = 0;
  std::size_t choice = 0;  // that it leads to
};

/// Compares savings for each byte without dividing.
bool saves_more(const Increment& a, const Increment& b) {
  return a.saving.count() * static_cast<double>(b.bytes) >
         b.saving.count() * static_cast<double>(a.bytes);
}

/// Returns the indices of the choices that no other beats, by ascending workspace.
std::vector<std::size_t> undominated(
    const std::vector<LayerDivision::Assignment::Choice>& choices) {
  std::vector<std::size_t> order(choices.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(choices[a].workspace, choices[a].time, a) <
           std::tuple(choices[b].workspace, choices[b].time, b);
  });
  std::vector<std::size_t> kept;
  for (const std::size_t i : order) {
    if (kept.empty() || choices[i].time < choices[kept.back()].time) {
      kept.push_back(i);
    }
  }
  return kept;
}

/// Returns the steps along the lower hull of a layer's choices. Each saves less for a byte than the
/// one before.
std::vector<Increment> hull(const std::vector<LayerDivision::Assignment::Choice>& choices,
                            const std::vector<std::size_t>& kept,
                            std::size_t layer) {
  std::vector<std::size_t> corners;
  const auto step = [&](std::size_t from, std::size_t to) {
    return Increment{choices[to].workspace.value - choices[from].workspace.value,
                     choices[from].time - choices[to].time,
                     layer,
                     to};
  };
  for (const std::size_t i : kept) {
    while (corners.size() > 1 && !saves_more(step(corners[corners.size() - 2], corners.back()),
                                             step(corners.back(), i))) {
      corners.pop_back();
    }
    corners.push_back(i);
  }
  std::vector<Increment> steps;
  for (std::size_t i = 1; i < corners.size(); ++i) {
    steps.push_back(step(corners[i - 1], corners[i]));
  }
  return steps;
}

/// Least time of the layers from one on, in any workspace, if choices could be mixed.
class Relaxation {
 public:
  /// Takes the increments of these layers, best first.
  Relaxation(Seconds slowest, std::span<const Increment> increments) : slowest_(slowest) {
    for (const Increment& increment : increments) {
      bytes_.push_back((bytes_.empty() ? 0 : bytes_.back()) + increment.bytes);
      savings_.push_back((savings_.empty() ? Seconds(0) : savings_.back()) + increment.saving);
    }
  }

  /// Returns the least time where `room` bytes are left beyond the smallest choices.
  [[nodiscard]] Seconds least_time(std::int64_t room) const {
    const auto beyond = std::upper_bound(bytes_.begin(), bytes_.end(), room);
    const auto whole = static_cast<std::size_t>(beyond - bytes_.begin());
    Seconds saving = whole == 0 ? Seconds(0) : savings_[whole - 1];
    if (beyond != bytes_.end()) {
      const std::int64_t used = whole == 0 ? 0 : bytes_[whole - 1];
      const double share = static_cast<double>(room - used) / static_cast<double>(*beyond - used);
      saving += share * (savings_[whole] - (whole == 0 ? Seconds(0) : savings_[whole - 1]));
    }
    return slowest_ - saving;
  }

 private:
  Seconds slowest_;
  std::vector<std::int64_t> bytes_;  // of the first increments together
  std::vector<Seconds> savings_;     // likewise
};

}  // namespace

std::optional<LayerDivision::Assignment> assign_workspaces(
    std::span<const std::vector<LayerDivision::Assignment::Choice>> layers, Bytes total) {
  std::vector<std::vector<std::size_t>> kept;
  std::vector<Increment> increments;
  std::int64_t smallest = 0;
  Seconds slowest{};
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    kept.push_back(undominated(layers[layer]));
    if (kept.back().empty()) {
      return std::nullopt;
    }
    const LayerDivision::Assignment::Choice& first = layers[layer][kept.back().front()];
    smallest += first.workspace.value;
    slowest += first.time;
    const std::vector<Increment> steps = hull(layers[layer], kept.back(), layer);
    increments.insert(increments.end(), steps.begin(), steps.end());
  }
  if (smallest > total.value) {
    return std::nullopt;
  }
  std::stable_sort(increments.begin(), increments.end(), saves_more);
  // Increments in order of their worth, each that fits, are a solution: nothing slower counts.
  std::int64_t room = total.value - smallest;
  Seconds known = slowest;
  std::vector<bool> stopped(layers.size());
  for (const Increment& increment : increments) {
    if (!stopped[increment.layer] && increment.bytes <= room) {
      room -= increment.bytes;
      known -= increment.saving;
    } else {
      stopped[increment.layer] = true;
    }
  }
  const Seconds rounding = 1e-12 * slowest;
  std::vector<std::vector<Partial>> solutions;
  std::vector<Partial> current{{}};
  std::int64_t left = smallest;  // the smallest choices of the layers that are still open
  Seconds open = slowest;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const std::vector<LayerDivision::Assignment::Choice>& choices = layers[layer];
    left -= choices[kept[layer].front()].workspace.value;
    open -= choices[kept[layer].front()].time;
    std::erase_if(increments, [&](const Increment& step) { return step.layer == layer; });
    const Relaxation rest(open, increments);
    std::vector<Partial> next;
    for (std::size_t before = 0; before < current.size(); ++before) {
      for (const std::size_t choice : kept[layer]) {
        const Partial partial{current[before].bytes + choices[choice].workspace.value,
                              current[before].time + choices[choice].time,
                              before,
                              choice};
        const std::int64_t needed = partial.bytes + left;
        if (needed <= total.value &&
            partial.time + rest.least_time(total.value - needed) <= known + rounding) {
          next.push_back(partial);
        }
      }
    }
    std::sort(next.begin(), next.end(), [](const Partial& a, const Partial& b) {
      return std::pair(a.bytes, a.time) < std::pair(b.bytes, b.time);
    });
    std::vector<Partial> front;
    for (const Partial& partial : next) {
      if (front.empty() || partial.time < front.back().time) {
        front.push_back(partial);
      }
    }
    solutions.push_back(std::move(front));
    current = solutions.back();
  }
  if (layers.empty()) {
    return LayerDivision::Assignment{};
  }
  // The front descends in time, so its last solution is the fastest.
  LayerDivision::Assignment best;
  best.choices.resize(layers.size());
  std::size_t at = solutions.back().size() - 1;
  best.time = solutions.back()[at].time;
  best.workspace = {solutions.back()[at].bytes};
  for (std::size_t layer = layers.size(); layer-- > 0;) {
    best.choices[layer] = solutions[layer][at].choice;
    at = solutions[layer][at].before;
  }
  return best;
}

}  // namespace plumb::analysis
