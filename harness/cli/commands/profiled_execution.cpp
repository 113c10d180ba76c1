// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/commands/profiled_execution.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/analysis/profile/named_samples.hpp"
#include "harness/analysis/profile/profile_json.hpp"
#include "harness/base/error.hpp"
#include "harness/cli/commands/raw_folder.hpp"
#include "harness/importers/symbols/code_names.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb::cli {
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

worker::Profile take_samples(const CommandContext& context,
                             const ProfileSource& source,
                             const worker::ProfileRequest& request) {
  worker::WorkerProcess worker(
      session::worker_options(source.stack, source.threads, source.device));
  try {
    return worker.profile(request, request.budget + suite::parse_duration(source.timeout), [&] {
      return !context.stop.load();
    });
  } catch (const worker::WorkerDied& death) {
    throw worker::lost_worker(death, "profiling " + request.model.name);
  }
}

}  // namespace

results::NamedProfile profile_execution(const CommandContext& context,
                                        const ProfileSource& source,
                                        const suite::ResolvedSuite::Model& model,
                                        const std::optional<StoredRun>& run) {
  const session::PlannedModel planned = session::load_model(context.models, model);
  const results::ExecutionMode mode = results::execution_mode_from(source.mode);
  const RawFolder folder(source.folder);
  worker::ProfileRequest request;
  request.model = session::make_execute_request(context.models, model);
  request.model.modes = {make_mode_request(mode, planned, run)};
  request.folder = folder.path();
  request.rate = source.rate;
  request.budget = suite::parse_duration(source.budget);
  if (!source.clock.empty()) {
    request.clock = results::sampling_clock_from(source.clock);
  }
  const worker::Profile taken = take_samples(context, source, request);
  std::vector<std::filesystem::path> dumps;
  for (const std::string& file : taken.code_files) {
    dumps.push_back(folder.path() / file);
  }
  results::NamedProfile profile =
      analysis::name_samples(taken.samples, importers::read_code_names(taken.samples, dumps));
  profile.model = analysis::to_text(planned.instance, ", ");
  profile.mode = to_text(mode);
  profile.stack = source.stack;
  std::transform(profile.steps.begin(),
                 profile.steps.end(),
                 profile.step_names.begin(),
                 [&](const results::ProfiledStep& step) { return name_step(planned.graph, step); });
  return profile;
}

results::NamedProfile read_profile_file(const std::string& file) {
  constexpr std::uintmax_t kMaxBytes = 64 << 20;
  std::error_code fault;
  const std::uintmax_t size = std::filesystem::file_size(file, fault);
  std::ifstream in(file, std::ios::binary);
  if (fault || !in || size > kMaxBytes) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' cannot be read, or has more than {} MiB: name the JSON that "
                            "`plumb profile MODEL -o FILE.json` wrote",
                            file,
                            kMaxBytes >> 20U));
  }
  std::ostringstream text;
  text << in.rdbuf();
  try {
    return analysis::profile_from_json(text.str());
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("'{}': {}", file, error.what()));
  }
}

}  // namespace plumb::cli
