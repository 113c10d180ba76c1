// SPDX-License-Identifier: Apache-2.0
#include "harness/session/paired/paired_work.hpp"

#include <set>
#include <string>
#include <utility>

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/base/error.hpp"
#include "harness/rewrite/quantized_graph.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb::session {
namespace {

/// Makes the requests for those of the modes in which a model of this type is executed.
std::vector<worker::ModeRequest> requests_for(const std::string& dtype,
                                              std::span<const results::ExecutionMode> modes) {
  std::vector<worker::ModeRequest> requests;
  for (const results::ExecutionMode& mode : modes) {
    PLUMB_CHECK(!mode.best_variant);
    if (dtype != rewrite::kInt8 && (dtype == "f32" || mode.other_type().empty())) {
      requests.push_back({mode, {}, {}});
    }
  }
  return requests;
}

}  // namespace

std::vector<results::ExecutionMode> default_paired_modes() {
  return {{}, {.fusion = true}};
}

PairedWork collect_work(const ModelSource& source,
                        const suite::ResolvedSuite& suite,
                        std::span<const PlannedModel> models,
                        std::span<const results::ExecutionMode> modes) {
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
    std::vector<worker::ModeRequest> requests = requests_for(models[i].instance.dtype, modes);
    if (!requests.empty()) {
      PairedWork::Model model{analysis::subject_of(models[i].instance),
                              make_execute_request(source, suite.models[i])};
      model.request.modes = std::move(requests);
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
