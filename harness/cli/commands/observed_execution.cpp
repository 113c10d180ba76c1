// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/commands/observed_execution.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/analysis/profile/profile_json.hpp"
#include "harness/analysis/profile/profile_shares.hpp"
#include "harness/analysis/trace/executed_calls.hpp"
#include "harness/base/error.hpp"
#include "harness/importers/symbols/code_finder.hpp"
#include "harness/importers/traces/trace_file.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "harness/rewrite/types/typed_graph.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/profile/run_profiles.hpp"
#include "harness/session/stored/named_runs.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/session/work/worker_requests.hpp"
#include "harness/terminal/terminal.hpp"

namespace plumb::cli {
namespace {

/// Reads the traces and joins those of libraries with the runtime's.
results::ExecutedTrace read_traces(const std::vector<std::filesystem::path>& files,
                                   analysis::TraceReport& report) {
  std::optional<results::ExecutedTrace> runtime;
  std::optional<results::ExecutedTrace> library;
  for (const std::filesystem::path& file : files) {
    results::ExecutedTrace trace = importers::read_trace_file(file);
    report.formats.push_back(trace.format);
    report.left_out += trace.left_out;
    report.device_calls += trace.device_calls;
    std::optional<results::ExecutedTrace>& place =
        trace.format == "onnxruntime" || trace.format == "kineto" ? runtime : library;
    if (place) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' is a second trace in the format {}: give one of a runtime and "
                              "one of a library",
                              file.string(),
                              trace.format));
    }
    place = std::move(trace);
  }
  if (runtime && library) {
    return analysis::join_traces(std::move(*runtime), *library);
  }
  return runtime ? std::move(*runtime) : std::move(library.value());
}

results::ExecutedTrace make_trace(const CommandContext& context,
                                  const ObservedExecution::TraceSource& source,
                                  worker::Trace::Request request,
                                  analysis::TraceReport& report) {
  const session::RawFolder folder(source.folder);
  request.folder = folder.path();
  request.executions = source.executions;
  worker::WorkerProcess worker(session::worker_options(source.worker));
  worker::Trace trace;
  try {
    trace = worker.trace(request, source.timeout, [&] { return !context.stop.load(); });
  } catch (const worker::WorkerDied& death) {
    throw worker::lost_worker(death, "tracing " + request.model.name);
  }
  report.stack = source.worker.stack;
  report.mode = to_text(request.model.modes.front().mode);
  report.untraced = trace.untraced;
  std::vector<std::filesystem::path> files;
  for (const worker::Trace::File& file : trace.files) {
    files.push_back(folder.path() / file.name);
  }
  return read_traces(files, report);
}

/// Reads the measured variants of layers and of layers that a rule can fuse.
std::vector<analysis::TraceReport::Finding::MeasuredVariants> measured_variants(
    const model::Graph& graph, const std::optional<ObservedExecution::Run>& run) {
  std::vector<analysis::TraceReport::Finding::MeasuredVariants> measured;
  if (!run) {
    return measured;
  }
  const auto add = [&](const std::vector<model::LayerId>& layers, const model::LayerKey& key) {
    const std::optional<analysis::KeyTime> best = run->results.best(key, results::CacheMode::kNone);
    if (!best) {
      return;
    }
    measured.push_back({layers, {}});
    const auto keep = [&](const analysis::KeyTime& time) {
      measured.back().variants.push_back({time.variant, {time.time.median, time.time.interval}});
    };
    keep(*best);
    for (const analysis::KeyTime& time :
         run->results.variant_times(key, results::CacheMode::kNone)) {
      if (time.variant != best->variant) {
        keep(time);
      }
    }
  };
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    add({id}, graph.layers[id].key);
  }
  for (const rewrite::Match& match : rewrite::matches(graph)) {
    add(match.layers, match.key);
  }
  return measured;
}

}  // namespace

worker::ModeRequest make_mode_request(const results::ExecutionMode& mode,
                                      const session::PlannedModel& planned,
                                      const std::optional<ObservedExecution::Run>& run) {
  if (!mode.best_variant && !mode.micro_batch) {
    return {.mode = mode, .steps = {}};
  }
  std::vector<worker::ModeRequest> requests;
  if (run) {
    requests = session::mode_requests(planned, run->results, {{mode}});
  }
  if (requests.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("the mode {} needs the measured variants of a run: name one with "
                            "--run that has this model",
                            to_text(mode)));
  }
  return requests.front();
}

std::optional<ObservedExecution::Run> open_run(const CommandContext& context,
                                               const std::string& name) {
  if (name.empty()) {
    return std::nullopt;
  }
  auto store = store::open_store(context.store_url());
  results::RunRecord record = store->find_run(name);
  analysis::ResultSet results = session::read_result_set(*store, record.header.id);
  return ObservedExecution::Run{std::move(store), std::move(record), std::move(results)};
}

analysis::TraceReport trace_execution(const CommandContext& context,
                                      const ObservedExecution::TraceSource& source,
                                      const suite::ResolvedSuite::Model& model,
                                      const std::optional<ObservedExecution::Run>& run) {
  const session::PlannedModel planned = session::load_model(context.models, model);
  const results::ExecutionMode mode = results::execution_mode_from(source.mode);
  analysis::TraceReport report;
  report.instance = planned.instance;
  report.model = analysis::to_text(planned.instance, ", ");
  report.graph = mode.other_type().empty() || mode.int8
                     ? planned.graph
                     : rewrite::typed_graph(planned.graph, mode.other_type());
  results::ExecutedTrace trace;
  if (source.files.empty()) {
    worker::Trace::Request request;
    request.model = session::make_execute_request(context.models, model);
    request.model.modes = {make_mode_request(mode, planned, run)};
    trace = make_trace(context, source, std::move(request), report);
  } else {
    trace = read_traces({source.files.begin(), source.files.end()}, report);
  }
  report.matched = analysis::match_trace(report.graph, trace);
  report.findings = analysis::find_trace_findings(
      report.graph, report.matched, measured_variants(report.graph, run), report.untraced);
  return report;
}

namespace {

/// Makes a request in which the library chooses the variants of all layers but some, which are
/// given as LAYER=VARIANT. A layer stands for all that have its key.
worker::ModeRequest force_variants(const std::vector<std::string>& forced,
                                   const model::Graph& graph) {
  worker::ModeRequest request{.mode = results::execution_mode_from("best_variant"), .steps = {}};
  for (const std::string& each : forced) {
    const std::size_t end = each.find('=');
    const auto layer =
        std::find_if(graph.layers.begin(), graph.layers.end(), [&](const model::Layer& one) {
          return one.name == each.substr(0, end) && one.role == model::Layer::Role::kCompute;
        });
    if (end == std::string::npos || layer == graph.layers.end()) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' is not LAYER=VARIANT with a layer of this model: `plumb model "
                              "show` lists those, and `plumb layer KEY` the variants of one",
                              each));
    }
    request.steps.push_back({{static_cast<model::LayerId>(layer - graph.layers.begin())},
                             layer->key,
                             {{each.substr(end + 1), Seconds(1e-6)}}});
  }
  return request;
}

/// Throws Error{kUser} if a worker executed a step by another variant than was forced.
void check_forced(const worker::ModeRequest& request, const results::SampledProfile& samples) {
  for (const worker::ModeRequest::Step& forced : request.steps) {
    const std::string& wanted = forced.choices.front().variant;
    for (const results::SampledProfile::Step& step : samples.steps) {
      if (step.key == forced.key.text && !step.reorder && step.variant != wanted) {
        throw Error(Error::Kind::kUser,
                    fmt::format("'{}' was executed by '{}' and not by '{}': `plumb layer` lists "
                                "its variants",
                                step.key,
                                step.variant,
                                wanted));
      }
    }
  }
}

}  // namespace

ObservedExecution profile_execution(const CommandContext& context,
                                    const ObservedExecution::Source& source,
                                    const suite::ResolvedSuite::Model& model,
                                    const std::optional<ObservedExecution::Run>& run) {
  const session::PlannedModel planned = session::load_model(context.models, model);
  const session::RawFolder folder(source.folder);
  worker::Profile::Request request;
  request.model = session::make_execute_request(context.models, model);
  request.model.modes = {
      source.forced.empty()
          ? make_mode_request(results::execution_mode_from(source.mode), planned, run)
          : force_variants(source.forced, planned.graph)};
  request.folder = folder.path();
  request.rate = source.rate;
  request.budget = source.budget;
  request.chains = source.chains;
  if (!source.clock.empty()) {
    request.clock = results::sampling_clock_from(source.clock);
  }
  const worker::WorkerProcess::Options options = session::worker_options(source.worker);
  try {
    const session::RunProfiles::Sampled sampled = session::sample_model(
        options, request, source.timeout, [&] { return !context.stop.load(); });
    if (!source.forced.empty()) {
      check_forced(request.model.modes.front(), sampled.samples);
    }
    ObservedExecution execution{results::condense_listings(session::name_profile(
                                    sampled, options, request.model.modes.at(0).mode, planned)),
                                {}};
    if (!source.listing.empty()) {
      execution.listing =
          importers::list_code(sampled.samples,
                               sampled.dumps,
                               execution.profile.step_names,
                               source.listing == kHottest ? std::string() : source.listing);
    }
    return execution;
  } catch (const worker::WorkerDied& death) {
    throw worker::lost_worker(death, "profiling " + request.model.name);
  }
}

bool names_stored_runs(const CommandContext& context, const std::string& name) {
  std::error_code none;
  if (name.empty() || std::filesystem::is_regular_file(name, none)) {
    return false;
  }
  if (session::names_several_runs(name)) {
    return true;
  }
  try {
    static_cast<void>(context.models.axes(name, {}));
    return false;
  } catch (const Error&) {
    // No built-in model has this name.
  }
  try {
    static_cast<void>(store::open_store(context.store_url())->find_run(name));
    return true;
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::kUser) {
      throw;
    }
    return false;
  }
}

std::vector<results::NamedProfile> read_run_profiles(
    const CommandContext& context, const session::RunProfiles::Merged::Choice& choice) {
  const auto store = store::open_store(context.store_url());
  if (choice.newest <= 1 && !session::names_several_runs(choice.runs)) {
    return {session::read_profile(*store, store->find_run(choice.runs).header.id, choice.model)
                .profile};
  }
  session::RunProfiles::Merged merged = session::read_merged_runs(*store, choice);
  if (merged.without > 0) {
    terminal::say(fmt::format("{} runs keep no profile of this model", merged.without));
  }
  return std::move(merged.profiles);
}

results::NamedProfile single_profile(std::vector<results::NamedProfile> profiles) {
  if (profiles.size() > 1) {
    std::vector<std::string> kinds;
    kinds.reserve(profiles.size());
    for (const results::NamedProfile& profile : profiles) {
      kinds.push_back(fmt::format("{} on {} in mode {} by {} (environment {})",
                                  profile.runs.size() > 1
                                      ? fmt::format("{} runs", profile.runs.size())
                                      : "run " + profile.runs.front().run,
                                  profile.stack,
                                  profile.mode,
                                  to_text(profile.clock),
                                  profile.runs.front().environment));
    }
    throw Error(Error::Kind::kRefused,
                fmt::format("the runs are not merged, because their profiles are of unlike things: "
                            "{}; name runs of one",
                            fmt::join(kinds, ", ")));
  }
  return std::move(profiles.front());
}

results::NamedProfile read_named_profile(const CommandContext& context,
                                         const session::RunProfiles::Merged::Choice& choice) {
  return names_stored_runs(context, choice.runs)
             ? single_profile(read_run_profiles(context, choice))
             : read_profile_file(choice.runs);
}

results::NamedProfile::Listing find_listing(const results::NamedProfile& profile,
                                            const std::string& function) {
  std::vector<std::string> names;
  for (const results::NamedProfile::Listing& listing : profile.listings) {
    if (function == kHottest || listing.function.name == function) {
      return listing;
    }
    names.push_back(analysis::name_of(listing.function));
  }
  throw Error(Error::Kind::kUser,
              names.empty()
                  ? std::string("the profile of this run keeps no instructions: name a model in "
                                "place of the run")
                  : fmt::format("the run keeps instructions of its hottest functions alone, '{}': "
                                "for '{}', name a model in place of the run",
                                fmt::join(names, "', '"),
                                function));
}

results::NamedProfile read_profile_file(const std::string& file) {
  constexpr std::uintmax_t kMaxBytes = 64 << 20;
  std::error_code fault;
  const std::uintmax_t size = std::filesystem::file_size(file, fault);
  std::ifstream in(file, std::ios::binary);
  if (fault || !in || size > kMaxBytes) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("'{}' is no stored run, and no file that can be read and has at most {} "
                    "MiB: name a run, or the JSON that `plumb profile MODEL -o FILE.json` "
                    "wrote",
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
