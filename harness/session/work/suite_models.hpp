// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/results/run.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/suite/suite.hpp"
#include "harness/worker/protocol/requests.hpp"

namespace plumb::session {

/// Resolves a suite, with every axis of a built-in model at its extent. Shapes that alternate
/// become batches and axes. Throws Error{kUser} with file and line, also for unknown models and
/// axes, and for a shape that a model cannot have.
[[nodiscard]] suite::ResolvedSuite resolve_suite(const ModelSource& source,
                                                 const suite::SuiteSpec& spec);

/// Reads one model of a suite, in its type and with the suite's name for it. Throws Error{kUser}
/// for a type that is not floating or int8, and for a model that is not usable.
[[nodiscard]] PlannedModel load_model(const ModelSource& source,
                                      const suite::ResolvedSuite::Model& model);

/// Reads the models of a suite for a run. The suite gets the batch that each is executed at. A
/// model that cannot be read is logged and leaves the suite. One shape that is left of several does
/// not alternate. Throws its Error if nothing is left.
[[nodiscard]] std::vector<PlannedModel> prepare_models(const ModelSource& source,
                                                       suite::ResolvedSuite& suite);

/// Reads the models of a suite in its order, each in its type and with the suite's name for it.
/// `only` names the models to read; empty: all. Throws Error{kUser} for a type that is not floating
/// or int8, and if `only` leaves no model.
[[nodiscard]] std::vector<PlannedModel> load_models(const ModelSource& source,
                                                    const suite::ResolvedSuite& suite,
                                                    const std::vector<std::string>& only);

/// Reduces a suite to the models of these names, without layers of its own. Throws Error{kUser} if
/// no model is left.
void keep_models(suite::ResolvedSuite& suite, const std::vector<std::string>& names);

/// Writes the resolved suite as it is stored with a run, with a digest of each model's graph. So a
/// later analysis notices a model that changed after it was measured, and the suite's hash changes
/// with its models. `models` are all of the suite's, in its order.
[[nodiscard]] std::string suite_for_store(const suite::ResolvedSuite& suite,
                                          std::span<const PlannedModel> models);

/// Returns whether two runs are of suites that measure the same. They may differ in the time they
/// may take, in when rows are reused, in notes, and in where the files of models lie: digests
/// identify their content.
[[nodiscard]] bool measure_the_same(const results::RunHeader& one, const results::RunHeader& other);

/// Models of a stored run, as a suite has them and as they are planned, in one order.
struct StoredModels {
  std::vector<suite::ResolvedSuite::Model> named;  ///< without scenarios
  std::vector<PlannedModel> planned;
};

/// Reads back the models that a stored run measured, built in or from their files. Throws
/// Error{kUser} if a file is gone or a graph has changed since, naming it.
[[nodiscard]] StoredModels read_stored_models(const ModelSource& source,
                                              const results::RunRecord& run);

/// Lists for each model of a run the scenarios that its suite asks for, by name.
[[nodiscard]] std::map<analysis::ModelInstance, std::vector<loadgen::ScenarioName>>
scenarios_of_run(const results::RunRecord& run);

/// Makes a request to execute a model of a suite in the mode plain. Throws Error{kUser} if it
/// cannot be built.
[[nodiscard]] worker::ExecuteRequest make_execute_request(const ModelSource& source,
                                                          const suite::ResolvedSuite::Model& model);

/// Makes a request to execute a model in several shapes, without an order. Throws Error{kUser} for
/// fewer than two shapes or more than kMaxAlternatedShapes, for several types, and for a mode that
/// needs measured variants.
[[nodiscard]] worker::Alternation::Request make_alternate_request(
    const ModelSource& source,
    std::span<const suite::ResolvedSuite::Model> shapes,
    const results::ExecutionMode& mode);

}  // namespace plumb::session
