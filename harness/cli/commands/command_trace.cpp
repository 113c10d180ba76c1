// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/trace/trace_report.hpp"
#include "harness/base/error.hpp"
#include "harness/base/whole_file.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/device_option.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/importers/traces/trace_file.hpp"
#include "harness/rewrite/typed_graph.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/stored/run_record.hpp"
#include "harness/session/work/mode_requests.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/store/store.hpp"
#include "harness/terminal/messages.hpp"
#include "reporting/content/run/trace_documents.hpp"

namespace plumb::cli {
namespace {

struct TraceOptions {
  std::string model;
  std::string batch;
  std::string dtype;
  std::vector<std::string> dims;
  std::vector<std::string> files;  ///< traces from elsewhere; none: one is made
  std::string stack = "default";
  std::string mode = "fusion";
  int threads = 1;
  std::string device;
  std::uint64_t executions = 11;
  std::string timeout = "5m";
  std::string folder;  ///< for the raw trace; empty: it is not kept
  std::string run;     ///< whose measured variants count, and which keeps the result
  std::string perfetto;
  bool all = false;
};

/// Folder for a raw trace: the named one, or one that is removed again.
class TraceFolder {
 public:
  explicit TraceFolder(const std::string& named) : kept_(!named.empty()) {
    if (kept_) {
      path_ = std::filesystem::absolute(named);
      std::error_code fault;
      std::filesystem::create_directories(path_, fault);
      if (fault) {
        throw Error(Error::Kind::kEnvironment,
                    fmt::format("cannot make the folder '{}': {}", named, fault.message()));
      }
      return;
    }
    std::string name = (std::filesystem::temp_directory_path() / "plumb-trace-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("cannot make a folder like '{}': check its permissions", name));
    }
    path_ = name;
  }
  ~TraceFolder() {
    if (!kept_) {
      std::error_code ignored;
      std::filesystem::remove_all(path_, ignored);
    }
  }
  TraceFolder(const TraceFolder&) = delete;
  TraceFolder& operator=(const TraceFolder&) = delete;
  TraceFolder(TraceFolder&&) = delete;
  TraceFolder& operator=(TraceFolder&&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  bool kept_;
  std::filesystem::path path_;
};

/// Run of a store that helps to judge a trace.
struct StoredRun {
  std::unique_ptr<store::Store> store;
  results::RunRecord record;
  analysis::ResultSet results;
};

std::optional<StoredRun> open_run(const CommandContext& context, const std::string& name) {
  if (name.empty()) {
    return std::nullopt;
  }
  auto store = store::open_store(context.store_url());
  results::RunRecord record = store->find_run(name);
  analysis::ResultSet results = session::read_result_set(*store, record.header.id);
  return StoredRun{std::move(store), std::move(record), std::move(results)};
}

worker::ModeRequest request_of_mode(const results::ExecutionMode& mode,
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

/// Reads the traces and joins those of libraries with the runtime's.
results::ExecutedTrace read_traces(const std::vector<std::filesystem::path>& files,
                                   analysis::TraceReport& report) {
  std::optional<results::ExecutedTrace> runtime;
  std::optional<results::ExecutedTrace> library;
  for (const std::filesystem::path& file : files) {
    results::ExecutedTrace trace = importers::read_trace_file(file);
    report.formats.push_back(trace.format);
    report.left_out += trace.left_out;
    std::optional<results::ExecutedTrace>& place = trace.format == "onednn" ? library : runtime;
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
                                  const TraceOptions& options,
                                  worker::TraceRequest request,
                                  analysis::TraceReport& report) {
  const TraceFolder folder(options.folder);
  request.folder = folder.path();
  request.executions = options.executions;
  worker::WorkerProcess worker(
      session::worker_options(options.stack, options.threads, options.device));
  worker::Trace trace;
  try {
    trace = worker.trace(
        request, suite::parse_duration(options.timeout), [&] { return !context.stop.load(); });
  } catch (const worker::WorkerDied& death) {
    throw worker::lost_worker(death, "tracing " + request.model.name);
  }
  report.stack = options.stack;
  report.mode = to_text(request.model.modes.front().mode);
  report.untraced = trace.untraced;
  std::vector<std::filesystem::path> files;
  for (const worker::TraceFile& file : trace.files) {
    files.push_back(folder.path() / file.name);
  }
  return read_traces(files, report);
}

std::vector<analysis::FastestVariant> fastest_variants(const model::Graph& graph,
                                                       const std::optional<StoredRun>& run) {
  std::vector<analysis::FastestVariant> fastest;
  for (model::LayerId id = 0; run && id < graph.layers.size(); ++id) {
    const std::vector<analysis::KeyTime> times =
        run->results.variant_times(graph.layers[id].key, results::CacheMode::kNone);
    if (!times.empty()) {
      fastest.push_back({id, times.front().variant, times.front().time.median});
    }
  }
  return fastest;
}

void write_trace(const CommandContext& context, const TraceOptions& options) {
  SuiteChoice choice;
  choice.models = {options.model};
  if (!options.batch.empty()) {
    choice.batches = {options.batch};
  }
  if (!options.dtype.empty()) {
    choice.dtypes = {options.dtype};
  }
  choice.dims = options.dims;
  const suite::ResolvedSuite suite = chosen_suite(context.models, choice);
  if (suite.models.size() != 1) {
    throw Error(Error::Kind::kUser, "a trace is of one model: give one batch and one type");
  }
  const session::PlannedModel planned = session::load_model(context.models, suite.models.front());
  const std::optional<StoredRun> run = open_run(context, options.run);
  const results::ExecutionMode mode = results::execution_mode_from(options.mode);
  analysis::TraceReport report;
  report.model = analysis::to_text(planned.instance, ", ");
  report.graph = mode.other_type().empty() || mode.int8
                     ? planned.graph
                     : rewrite::typed_graph(planned.graph, mode.other_type());
  results::ExecutedTrace trace;
  if (options.files.empty()) {
    worker::TraceRequest request;
    request.model = session::make_execute_request(context.models, suite.models.front());
    request.model.modes = {request_of_mode(mode, planned, run)};
    trace = make_trace(context, options, std::move(request), report);
  } else {
    trace = read_traces({options.files.begin(), options.files.end()}, report);
  }
  report.matched = analysis::match_trace(report.graph, trace);
  report.findings = analysis::find_trace_findings(
      report.graph, report.matched, fastest_variants(report.graph, run));
  if (!options.perfetto.empty()) {
    write_whole_file(options.perfetto, [&](std::ostream& out) {
      out << analysis::document_text(analysis::perfetto_document(report));
    });
    terminal::say(fmt::format("timelines: {}", options.perfetto));
  }
  if (run) {
    const results::DerivedRecord record{
        .run = run->record.header.id,
        .kind = "trace",
        .subject = analysis::subject_of(planned.instance) + "|" + options.mode,
        .analysis_version = std::string(analysis::kAnalysisVersion),
        .inputs = {},
        .payload = analysis::document_text(analysis::trace_document(report)),
        .computed = current_time()};
    run->store->put_derived({&record, 1});
  }
  reporting::write_trace(report,
                         context.json ? reporting::OutputMode::kJson : reporting::OutputMode::kText,
                         std::cout,
                         options.all ? reporting::Detail::kAll : reporting::Detail::kShort);
}

}  // namespace

void add_trace(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<TraceOptions>();
  CLI::App* const command = app.add_subcommand(
      "trace", "what a runtime executes against what the model needs, call by call");
  command->add_option("MODEL", options->model, "a built-in name or an .onnx file")->required();
  command->add_option("--batch", options->batch, "batch of the model");
  command->add_option("--dtype", options->dtype, "element type of the model");
  command->add_option("--dim", options->dims, "NAME=VALUE sets an axis; may be repeated");
  CLI::Option* const file = command->add_option(
      "--file",
      options->files,
      "read this trace instead of making one: oneDNN's verbose log, ONNX Runtime's profile or "
      "PyTorch's, also with gzip; may be repeated: a library's log joins a runtime's trace");
  command->add_option("--stack", options->stack, "library version to run with")
      ->capture_default_str()
      ->excludes(file);
  command->add_option("--mode", options->mode, "how the model is executed")->capture_default_str();
  command->add_option("--threads", options->threads, "threads of the worker")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str()
      ->excludes(file);
  add_device_option(*command, options->device);
  command
      ->add_option("--executions",
                   options->executions,
                   "traced executions, of which the one of median time is reported")
      ->check(CLI::Range(std::uint64_t{1}, worker::kMaxTracedExecutions))
      ->capture_default_str()
      ->excludes(file);
  command->add_option("--timeout", options->timeout, "how long it may take")
      ->capture_default_str()
      ->excludes(file);
  command->add_option("--folder", options->folder, "keep the raw trace in this folder")
      ->excludes(file);
  command->add_option("--run",
                      options->run,
                      "a run of the model: its fastest variants are compared, and it keeps the "
                      "result");
  command->add_option("--perfetto",
                      options->perfetto,
                      "write both timelines into this file, for Perfetto or Chrome");
  command->add_flag("--all", options->all, "all findings, and every call beside its layers");
  command->callback([&context, options] { write_trace(context, *options); });
}

}  // namespace plumb::cli
