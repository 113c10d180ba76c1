// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/model_execution.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "runners/engine/candidate.hpp"
#include "runners/engine/program_region.hpp"
#include "runners/engine/ready_model.hpp"
#include "runners/engine/verification.hpp"

namespace plumb {

Execution execute_model(Backend& backend, LayerTiming& timing, const ExecuteRequest& request) {
  Execution execution;
  execution.mode = request.mode;
  Measurement& row = execution.row;
  row.key.text = "model:" + request.name;
  row.variant = request.mode;
  row.started = current_time();
  fmt::print(stderr, "executing {} ({}, seed {})\n", request.name, request.mode, request.seed);
  const Seconds begin = timing.clock()();
  guarded(row, [&] {
    if (request.mode != "plain") {
      row.outcome = {Outcome::Kind::kUnsupported,
                     fmt::format("there is no execution mode '{}' here", request.mode)};
      return;
    }
    const ReadyModel ready = make_ready(backend, request, timing.clock());
    row.outcome = ready.outcome;
    execution.memory = ready.prepared.memory;
    execution.reorders = static_cast<std::int64_t>(ready.prepared.reorders);
    if (ready.prepared.program) {
      const ProgramFacts facts = ready.prepared.program->facts();
      row.creation = facts.creation;
      row.workspace = facts.workspace;
    }
    if (!row.outcome.ok()) {
      return;
    }
    row.first_call = ready.first_call;
    row.output_hash = output_hash(ready.outputs);
    HotRegion region(*ready.prepared.program);
    timing.time(region, request.sampling, request.disturbed_attempts, row);
  });
  row.wall = timing.clock()() - begin;
  return execution;
}

}  // namespace plumb
