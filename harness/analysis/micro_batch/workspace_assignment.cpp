// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/micro_batch/workspace_assignment.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

namespace plumb::analysis {
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
std::vector<std::size_t> undominated(const std::vector<WorkspaceChoice>& choices) {
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
std::vector<Increment> hull(const std::vector<WorkspaceChoice>& choices,
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

std::optional<WorkspaceAssignment> assign_workspaces(
    std::span<const std::vector<WorkspaceChoice>> layers, Bytes total) {
  std::vector<std::vector<std::size_t>> kept;
  std::vector<Increment> increments;
  std::int64_t smallest = 0;
  Seconds slowest{};
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    kept.push_back(undominated(layers[layer]));
    if (kept.back().empty()) {
      return std::nullopt;
    }
    const WorkspaceChoice& first = layers[layer][kept.back().front()];
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
    const std::vector<WorkspaceChoice>& choices = layers[layer];
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
    return WorkspaceAssignment{};
  }
  // The front descends in time, so its last solution is the fastest.
  WorkspaceAssignment best;
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
