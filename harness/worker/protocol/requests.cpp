// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol/requests.hpp"

namespace plumb::worker {

results::ScenarioResult begin_load(const LoadRequest& request) {
  const ExecuteRequest& model = request.buckets.front().model;
  results::ScenarioResult load;
  load.mode = to_text(model.modes.front().mode);
  load.model = model.name;
  load.scenario = loadgen::name_of(request.load.scenario);
  load.requested = request.load;
  load.batches = request.batches;
  load.inputs_per_sample = request.inputs_per_sample;
  return load;
}

}  // namespace plumb::worker
