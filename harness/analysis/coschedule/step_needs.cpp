// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/coschedule/step_needs.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace plumb::analysis {
namespace {

/// Graph of the layers, with the step that each belongs to.
class StepGraph {
 public:
  StepGraph(const model::Graph& graph, const std::vector<PartitionStep>& steps)
      : before_(model::predecessors(graph)), step_of_(graph.layers.size()) {
    for (std::size_t step = 0; step < steps.size(); ++step) {
      for (const model::LayerId layer : steps[step].layers) {
        step_of_[layer] = step;
      }
    }
  }

  /// Finds the steps that produce what the layers of a step read.
  [[nodiscard]] std::vector<std::size_t> needs_of(const PartitionStep& step) const {
    std::vector<model::LayerId> open(step.layers);
    const std::set<model::LayerId> own(step.layers.begin(), step.layers.end());
    std::set<model::LayerId> seen = own;
    std::set<std::size_t> found;
    while (!open.empty()) {
      const model::LayerId layer = open.back();
      open.pop_back();
      for (const model::LayerId producer : before_[layer]) {
        if (!seen.insert(producer).second) {
          continue;
        }
        if (step_of_[producer]) {
          found.insert(*step_of_[producer]);
        } else {
          open.push_back(producer);
        }
      }
    }
    return {found.begin(), found.end()};
  }

 private:
  std::vector<std::vector<model::LayerId>> before_;
  std::vector<std::optional<std::size_t>> step_of_;
};

}  // namespace

std::vector<std::vector<std::size_t>> step_needs(const model::Graph& graph,
                                                 const std::vector<PartitionStep>& steps) {
  const StepGraph layers(graph, steps);
  std::vector<std::vector<std::size_t>> needs;
  needs.reserve(steps.size());
  for (const PartitionStep& step : steps) {
    needs.push_back(layers.needs_of(step));
  }
  return needs;
}

}  // namespace plumb::analysis
