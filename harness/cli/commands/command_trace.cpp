// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/trace/trace_report.hpp"
#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/commands/model_execution.hpp"
#include "harness/cli/option_checks.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/results/trace/executed_trace.hpp"
#include "harness/session/host/model_export.hpp"
#include "harness/terminal/messages.hpp"
#include "reporting/content/run/execution_documents.hpp"

namespace plumb::cli {
namespace {

struct TraceOptions {
  SuiteChoice choice{.models = {""}};
  TraceSource source;
  std::vector<std::string> against;  ///< a stack, or files
  std::string against_mode;          ///< empty: the same
  std::string run;                   ///< whose measured variants count, and which keeps the result
  std::string perfetto;
  bool all = false;
};

/// Returns where the other execution comes from: from a stack, or from files if they exist.
TraceSource source_of_other(const TraceOptions& options) {
  TraceSource other = options.source;
  other.files.clear();
  other.folder.clear();
  if (!options.against_mode.empty()) {
    other.mode = options.against_mode;
  }
  const auto is_file = [](const std::string& name) {
    return std::filesystem::is_regular_file(name);
  };
  if (std::all_of(options.against.begin(), options.against.end(), is_file)) {
    other.files.assign(options.against.begin(), options.against.end());
  } else if (options.against.size() == 1) {
    other.worker.stack = options.against.front();
  } else {
    throw Error(Error::Kind::kUser, "--against takes one stack, or files that exist");
  }
  return other;
}

/// Exports a model that code of the user builds, through the first of the stacks that can run it.
void export_model(const CommandContext& context, TraceOptions& options) {
  const std::string& model = options.choice.models.front();
  if (!session::parse_model_code(model)) {
    return;
  }
  if (!options.source.files.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' is code, and a trace from files runs none: name the ONNX file "
                            "that the model was exported to",
                            model));
  }
  std::vector<std::string> stacks{options.source.worker.stack};
  if (!options.against.empty() && source_of_other(options).files.empty()) {
    stacks.push_back(options.against.front());
  }
  export_models(options.choice, stacks, context.stop);
}

void keep_result(const StoredRun& run,
                 const analysis::ModelInstance& instance,
                 const std::string& mode,
                 const analysis::TraceReport& report) {
  const results::DerivedRecord record{
      .run = run.record.header.id,
      .kind = results::kTraceRecord,
      .subject = analysis::subject_of(instance) + "|" + mode,
      .analysis_version = std::string(analysis::kAnalysisVersion),
      .inputs = {},
      .payload = analysis::document_text(analysis::trace_document(report)),
      .computed = current_time()};
  run.store->put_derived({&record, 1});
}

void write_trace(const CommandContext& context, TraceOptions options) {
  export_model(context, options);
  const suite::ResolvedSuite::Model model = chosen_model(context.models, options.choice, "a trace");
  const std::optional<StoredRun> run = open_run(context, options.run);
  const analysis::TraceReport report = trace_execution(context, options.source, model, run);
  std::optional<analysis::TraceReport> other;
  if (!options.against.empty() || !options.against_mode.empty()) {
    other = trace_execution(context, source_of_other(options), model, run);
  }
  if (!options.perfetto.empty()) {
    write_whole_file(options.perfetto, [&](std::ostream& out) {
      out << analysis::document_text(
          analysis::perfetto_document(report, other ? &*other : nullptr));
    });
    terminal::say(fmt::format("timelines: {}", options.perfetto));
  }
  if (run) {
    keep_result(*run, report.instance, options.source.mode, report);
  }
  const reporting::OutputMode output = context.output_mode();
  const reporting::Detail detail =
      options.all ? reporting::Detail::kAll : reporting::Detail::kShort;
  if (other) {
    const analysis::TraceDifference difference =
        analysis::compute_trace_difference(report.graph, report.matched, other->matched);
    reporting::write_trace_difference(report, *other, difference, output, std::cout, detail);
  } else {
    reporting::write_trace(report, output, std::cout, detail);
  }
}

}  // namespace

void add_trace(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<TraceOptions>();
  CLI::App* const command = app.add_subcommand(
      "trace", "what a runtime executes against what the model needs, call by call");
  command
      ->add_option("MODEL",
                   options->choice.models.front(),
                   "a built-in name, an .onnx file, or FILE.py:NAME for a "
                   "function that returns a module and example inputs")
      ->required();
  add_single_shape_choice(*command, options->choice);
  CLI::Option* const file = command->add_option(
      "--file",
      options->source.files,
      "read this trace instead of making one: oneDNN's verbose log, ONNX Runtime's profile or "
      "PyTorch's, also with gzip; may be repeated: a library's log joins a runtime's trace");
  add_stack_option(*command, options->source.worker.stack)->excludes(file);
  add_mode_option(*command, options->source.mode);
  add_worker_options(*command, options->source.worker);
  command->get_option("--threads")->excludes(file);
  command
      ->add_option("--executions",
                   options->source.executions,
                   "traced executions, of which the one of median time is reported")
      ->check(CLI::Range(std::uint64_t{1}, worker::kMaxTracedExecutions))
      ->capture_default_str()
      ->excludes(file);
  add_duration_option(*command, "--timeout", options->source.timeout, "5m", "how long it may take")
      ->excludes(file);
  command->add_option("--folder", options->source.folder, "keep the raw trace in this folder")
      ->excludes(file);
  command
      ->add_option("--against",
                   options->against,
                   "compare with the execution of this stack, or with the one in these files")
      ->expected(1, 2);
  command->add_option(
      "--against-mode", options->against_mode, "mode of the execution to compare with");
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
