// SPDX-License-Identifier: Apache-2.0
#include "harness/session/paired/paired_work.hpp"

#include <set>
#include <utility>

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/base/error.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb::session {

PairedWork collect_work(const ModelSource& source,
                        const suite::ResolvedSuite& suite,
                        std::span<const PlannedModel> models,
                        bool end_to_end) {
  PLUMB_CHECK(suite.models.size() == models.size());
  PairedWork work;
  std::set<model::LayerKey> seen;
  const auto add = [&](const model::LayerKey& key) {
    if (seen.insert(key).second) {
      work.layers.push_back(key);
    }
  };
  for (std::size_t i = 0; i < models.size(); ++i) {
    for (const model::Layer& layer : models[i].graph.layers) {
      if (layer.role == model::Layer::Role::kCompute) {
        add(layer.key);
      }
    }
    if (end_to_end) {
      PairedWork::Model model{analysis::subject_of(models[i].instance),
                              make_execute_request(source, suite.models[i])};
      model.request.modes = {worker::ModeRequest{},
                             worker::ModeRequest{.mode = {.fusion = true}, .steps = {}}};
      model.request.sampling.budget = Seconds(0.3);
      work.models.push_back(std::move(model));
    }
  }
  for (const suite::ResolvedSuite::LayerEntry& layer : suite.layers) {
    add(layer.key);
  }
  return work;
}

}  // namespace plumb::session
