// SPDX-License-Identifier: Apache-2.0
#include "harness/session/profile/model_profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/analysis/profile/named_samples.hpp"
#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/importers/symbols/code_finder.hpp"
#include "harness/importers/symbols/code_listing.hpp"
#include "harness/importers/symbols/code_names.hpp"

namespace plumb::session {
namespace {

constexpr std::size_t kNamedLayers = 3;

/// Names a step by its layers.
std::string name_step(const model::Graph& graph, const results::ProfiledStep& step) {
  std::vector<std::string> names;
  for (const std::size_t layer : step.layers) {
    if (layer >= graph.layers.size()) {
      throw Error(Error::Kind::kInternal,
                  fmt::format("the worker profiled layer {} of a model of {}; please report this",
                              layer,
                              graph.layers.size()));
    }
    names.push_back(graph.layers[layer].name);
  }
  const std::size_t more = names.size() > kNamedLayers ? names.size() - kNamedLayers : 0;
  names.resize(names.size() - more);
  const std::string layers =
      fmt::format("{}{}", fmt::join(names, "+"), more > 0 ? fmt::format("+{} more", more) : "");
  if (step.layers.empty()) {
    return "(outputs)";
  }
  return step.reorder ? fmt::format("{} (reorder)", layers) : layers;
}

}  // namespace

SampledModel sample_model(const worker::WorkerOptions& options,
                          const worker::ProfileRequest& request,
                          Seconds timeout,
                          const std::function<bool()>& keep_running) {
  const Seconds begin = steady_time();
  worker::WorkerProcess worker(options);
  worker::ProfileRequest asked = request;
  if (request.within) {
    asked.within = std::max(Seconds(0.0), *request.within - (steady_time() - begin));
  }
  worker::Profile taken = worker.profile(asked, request.budget + timeout, keep_running);
  SampledModel sampled{std::move(taken.samples), {}};
  for (const std::string& file : taken.code_files) {
    sampled.dumps.push_back(request.folder / file);
  }
  return sampled;
}

results::NamedProfile name_profile(const SampledModel& sampled,
                                   const worker::WorkerOptions& options,
                                   const results::ExecutionMode& mode,
                                   const PlannedModel& planned) {
  importers::CodeFinder finder(sampled.samples.mappings, sampled.dumps);
  results::NamedProfile profile =
      analysis::name_samples(sampled.samples, importers::read_code_names(sampled.samples, finder));
  profile.model = analysis::to_text(planned.instance, ", ");
  profile.mode = to_text(mode);
  profile.stack = options.stack.name;
  std::transform(profile.steps.begin(),
                 profile.steps.end(),
                 profile.step_names.begin(),
                 [&](const results::ProfiledStep& step) { return name_step(planned.graph, step); });
  profile.listings = importers::list_hottest_code(sampled.samples, finder, profile.step_names);
  return profile;
}

results::NamedProfile profile_model(const worker::WorkerOptions& options,
                                    const worker::ProfileRequest& request,
                                    Seconds timeout,
                                    const PlannedModel& planned,
                                    const std::function<bool()>& keep_running) {
  return name_profile(sample_model(options, request, timeout, keep_running),
                      options,
                      request.model.modes.at(0).mode,
                      planned);
}

}  // namespace plumb::session
