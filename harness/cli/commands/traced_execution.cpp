// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/commands/traced_execution.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "harness/analysis/trace/joined_trace.hpp"
#include "harness/base/error.hpp"
#include "harness/importers/traces/trace_formats.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "harness/rewrite/types/typed_graph.hpp"
#include "harness/session/host/raw_folder.hpp"
#include "harness/session/work/mode_requests.hpp"
#include "harness/session/work/suite_models.hpp"

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
                                  const TraceSource& source,
                                  worker::TraceRequest request,
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
  for (const worker::TraceFile& file : trace.files) {
    files.push_back(folder.path() / file.name);
  }
  return read_traces(files, report);
}

/// Reads the measured variants of layers and of layers that a rule can fuse.
std::vector<analysis::MeasuredVariants> measured_variants(const model::Graph& graph,
                                                          const std::optional<StoredRun>& run) {
  std::vector<analysis::MeasuredVariants> measured;
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
                                      const std::optional<StoredRun>& run) {
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

std::optional<StoredRun> open_run(const CommandContext& context, const std::string& name) {
  if (name.empty()) {
    return std::nullopt;
  }
  auto store = store::open_store(context.store_url());
  results::RunRecord record = store->find_run(name);
  analysis::ResultSet results = session::read_result_set(*store, record.header.id);
  return StoredRun{std::move(store), std::move(record), std::move(results)};
}

analysis::TraceReport trace_execution(const CommandContext& context,
                                      const TraceSource& source,
                                      const suite::ResolvedSuite::Model& model,
                                      const std::optional<StoredRun>& run) {
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
    worker::TraceRequest request;
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

}  // namespace plumb::cli
