// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/matrix/matrix.hpp"

namespace plumb::analysis {

/// Makes results of a model with one execution, in the mode plain.
inline ModelResults timed_model(const std::string& name,
                                double seconds,
                                std::int64_t batch = 1,
                                const std::string& dtype = "f32") {
  ModelResults model;
  model.instance = {.model = name, .batch = batch, .dtype = dtype, .dims = {}};
  model.executions.push_back({.mode = "plain",
                              .outcome = {},
                              .seconds = Estimate{seconds, seconds * 0.98, seconds * 1.02},
                              .p99_seconds = {},
                              .disturbed = false});
  return model;
}

/// Makes results of a model whose execution failed.
inline ModelResults failed_model(const std::string& name,
                                 results::Outcome::Kind kind,
                                 const std::string& reason,
                                 std::int64_t batch = 1) {
  ModelResults model = timed_model(name, 1.0, batch);
  model.executions.front().outcome = {kind, reason};
  model.executions.front().seconds.reset();
  return model;
}

/// Makes a run of a suite "s" with a stack of this name and library.
inline Matrix::Run run_of(const std::string& id,
                          const std::string& stack,
                          std::vector<ModelResults> models) {
  Matrix::Run run;
  run.header.id = id;
  run.header.suite = "s";
  run.header.backend = "onednn";
  run.header.stack = stack;
  run.header.environment.identity = {
      {"cpu.model", "A CPU, family 6, model 1, stepping 1"}, {"threads", "1"}, {"library", stack}};
  run.header.started = Timestamp(std::chrono::seconds(std::stoi(id)));
  run.models = std::move(models);
  return run;
}

}  // namespace plumb::analysis
