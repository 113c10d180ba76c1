// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/profile/profile_difference.hpp"
#include "harness/analysis/profile/profile_json.hpp"
#include "harness/analysis/profile/profile_shares.hpp"
#include "harness/analysis/trace/trace_report.hpp"
#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/commands/observed_execution.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/cli/shared_options.hpp"
#include "harness/results/trace/executed_trace.hpp"
#include "harness/session/host/model_export.hpp"
#include "harness/terminal/terminal.hpp"
#include "harness/worker/protocol/requests.hpp"
#include "reporting/content/profile/profile_documents.hpp"
#include "reporting/content/run/execution_documents.hpp"
#include "reporting/content/samples/profile_files.hpp"

namespace plumb::cli {
namespace {

struct ProfileOptions {
  std::vector<std::string> names;  ///< a model, or stored runs
  SuiteChoice choice;              ///< shapes of the model
  ObservedExecution::Source source;
  std::string run;           ///< whose measured variants count
  std::string stored_model;  ///< of stored runs
  std::size_t newest = 1;    ///< runs to merge
  std::string output;
  bool all = false;
};

struct ProfileDiffOptions {
  std::string baseline;
  std::string candidate;
  std::string model;
  std::size_t newest = 1;
  bool all = false;
};

reporting::Detail detail(bool all) {
  return all ? reporting::Detail::kAll : reporting::Detail::kShort;
}

/// Returns what writes a profile into a file of this name. Throws Error{kUser} for an unknown form.
std::function<void(const results::NamedProfile&, std::ostream&)> writer_of(
    const std::string& file) {
  using Writer = void (*)(const results::NamedProfile&, std::ostream&);
  const auto write_json = [](const results::NamedProfile& profile, std::ostream& out) {
    out << analysis::document_text(analysis::profile_document(profile));
  };
  const std::vector<std::pair<std::string, Writer>> writers{
      {".json", write_json},
      {".svg", reporting::write_flame_graph},
      {".folded", reporting::write_folded_stacks},
      {".pb.gz", reporting::write_pprof},
      {".perf", reporting::write_perf_script},
      {".trace", reporting::write_event_trace},
  };
  std::vector<std::string> endings;
  for (const auto& [ending, writer] : writers) {
    if (file.ends_with(ending)) {
      return writer;
    }
    endings.push_back(ending);
  }
  throw Error(
      Error::Kind::kUser,
      fmt::format(
          "'{}' has no form of a profile: end it in one of {}", file, fmt::join(endings, ", ")));
}

/// Names the rate that would cost kWantedCost, where the samples certainly cost more.
void advise_rate(const results::NamedProfile& profile) {
  constexpr double kWantedCost = 0.03;
  const analysis::ProfileSummary summary = analysis::summarize_profile(profile);
  if (summary.cost && summary.cost_interval && summary.cost_interval->low > kWantedCost) {
    terminal::say(
        fmt::format("samples cost {:.1f} % of the time: at --rate {:.0f}Hz they would cost about "
                    "{:.0f} %",
                    100.0 * *summary.cost,
                    std::max(1.0, profile.rate * kWantedCost / *summary.cost),
                    100.0 * kWantedCost));
  }
}

/// Reads the profiles of stored runs, or profiles a model. A listing or a file is of one profile.
std::vector<ObservedExecution> find_profiles(const CommandContext& context,
                                             const ProfileOptions& options) {
  const std::string name = fmt::format("{}", fmt::join(options.names, ","));
  if (options.newest <= 1 && !names_stored_runs(context, name)) {
    SuiteChoice choice = options.choice;
    choice.models = {options.names.front()};
    ObservedExecution execution =
        profile_execution(context,
                          options.source,
                          chosen_model(context.models, choice, "a profile"),
                          open_run(context, options.run));
    advise_rate(execution.profile);
    return {std::move(execution)};
  }
  std::vector<results::NamedProfile> profiles =
      read_run_profiles(context, {name, options.newest, options.stored_model});
  if (!options.source.listing.empty() || !options.output.empty()) {
    profiles = {single_profile(std::move(profiles))};
  }
  std::vector<ObservedExecution> found;
  for (results::NamedProfile& profile : profiles) {
    std::optional<results::NamedProfile::Listing> listing;
    if (!options.source.listing.empty()) {
      listing = find_listing(profile, options.source.listing);
    }
    found.push_back({std::move(profile), std::move(listing)});
  }
  return found;
}

void write_profile(const CommandContext& context, const ProfileOptions& options) {
  if (options.names.empty()) {
    throw Error(
        Error::Kind::kUser,
        "which model? Name a built-in one, an .onnx file or a stored run, or compare two profiles "
        "with `plumb profile diff BASE CAND`");
  }
  const auto write = options.output.empty() ? nullptr : writer_of(options.output);
  const std::vector<ObservedExecution> found = find_profiles(context, options);
  if (write) {
    write_whole_file(options.output, [&](std::ostream& out) { write(found.front().profile, out); });
    terminal::say(fmt::format("profile: {}", options.output));
  }
  std::vector<reporting::ShownProfile> shown;
  shown.reserve(found.size());
  for (const ObservedExecution& each : found) {
    shown.push_back({each.profile, each.listing ? &*each.listing : nullptr});
  }
  reporting::write_profiles(shown, context.output_mode(), std::cout, detail(options.all));
}

void write_difference(const CommandContext& context, const ProfileDiffOptions& options) {
  const results::NamedProfile baseline =
      read_named_profile(context, {options.baseline, options.newest, options.model});
  const results::NamedProfile candidate =
      read_named_profile(context, {options.candidate, options.newest, options.model});
  reporting::write_profile_difference(baseline,
                                      candidate,
                                      analysis::compute_profile_difference(baseline, candidate),
                                      context.output_mode(),
                                      std::cout,
                                      detail(options.all));
}

void add_merged_runs(CLI::App& command, std::size_t& newest) {
  command
      .add_option("--runs",
                  newest,
                  "merge so many runs: the named one, and the newest before it of its suite and "
                  "environment")
      ->check(CLI::Range(std::size_t{1}, session::kMaxMergedRuns))
      ->type_name("N");
}

CLI::App* add_profile_diff(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<ProfileDiffOptions>();
  CLI::App* const command = app.add_subcommand(
      "diff", "functions of two profiles of one model, ranked by how their time changed");
  command
      ->add_option("BASE",
                   options->baseline,
                   "the baseline: a stored run, or JSON of a profile; several runs, which are "
                   "merged: A,B,C or TAG/*")
      ->required();
  command->add_option("CAND", options->candidate, "the candidate, named in the same way")
      ->required();
  add_merged_runs(*command, options->newest);
  command->add_option("--model", options->model, "the model of stored runs that profiled several");
  command->add_flag("--all", options->all, "also functions that may not have changed");
  command->callback([&context, options] { write_difference(context, *options); });
  return command;
}

}  // namespace

void add_profile(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<ProfileOptions>();
  CLI::App* const command = app.add_subcommand(
      "profile", "where inside the layers of a model the time goes, function by function");
  command->add_option(
      "MODEL",
      options->names,
      "a built-in name or an .onnx file; or stored runs, whose profiles are merged: "
      "ids, tags, @latest, TAG/*");
  add_merged_runs(*command, options->newest);
  command->add_option(
      "--model", options->stored_model, "the model of a stored run that profiled several");
  add_single_shape_choice(*command, options->choice);
  add_stack_option(*command, options->source.worker.stack);
  CLI::Option* const mode = add_mode_option(*command, options->source.mode);
  command
      ->add_option("--force",
                   options->source.forced,
                   "execute LAYER, and every layer of its key, by VARIANT; the library chooses for "
                   "all others, and nothing is fused; may be repeated")
      ->type_name("LAYER=VARIANT")
      ->allow_extra_args(false)
      ->excludes(mode);
  add_worker_options(*command, options->source.worker);
  command
      ->add_option(
          "--rate", options->source.rate, "samples a second of each thread: 1000, 1000Hz or 1kHz")
      ->transform(CLI::AsNumberWithUnit(std::map<std::string, double>{{"Hz", 1.0}, {"kHz", 1000.0}},
                                        CLI::AsNumberWithUnit::CASE_INSENSITIVE,
                                        "RATE"))
      ->check(CLI::Range(worker::kMinSamplingRate, worker::kMaxSamplingRate))
      ->capture_default_str();
  add_duration_option(*command,
                      "--budget",
                      options->source.budget,
                      "10s",
                      "how long the model is executed; half of it without samples, for the cost");
  command
      ->add_option("--clock",
                   options->source.clock,
                   "what interrupts the threads; default: the first of these that the machine has")
      ->check(CLI::IsMember({"cycles", "thread", "cpu-clock", "timer"}));
  add_duration_option(*command,
                      "--timeout",
                      options->source.timeout,
                      "5m",
                      "how long it may take beside the budget");
  command->add_option("--folder",
                      options->source.folder,
                      "keep the code that the library made at run time in this folder");
  command->add_option(
      "--run", options->run, "a run of the model, for modes that need its measured variants");
  command->add_option(
      "-o,--output",
      options->output,
      "write the profile into this file: .json for diff, .svg a flame graph, "
      ".folded stacks, .pb.gz for pprof, .perf as perf script, .trace for Perfetto");
  command->add_flag("--chains", options->source.chains, "also the calls that led to each sample");
  command
      ->add_option("--listing",
                   options->source.listing,
                   "also the instructions of a function and their samples: its name, or 'hottest'")
      ->type_name("FUNCTION");
  command->add_flag("--all", options->all, "all steps and functions");
  const CLI::App* const diff = add_profile_diff(*command, context);
  command->callback([&context, options, diff] {
    if (!diff->parsed()) {
      write_profile(context, *options);
    }
  });
}

namespace {

struct TraceOptions {
  SuiteChoice choice{.models = {""}};
  ObservedExecution::TraceSource source;
  std::vector<std::string> against;  ///< a stack, or files
  std::string against_mode;          ///< empty: the same
  std::string run;                   ///< whose measured variants count, and which keeps the result
  std::string perfetto;
  bool all = false;
};

/// Returns where the other execution comes from: from a stack, or from files if they exist.
ObservedExecution::TraceSource source_of_other(const TraceOptions& options) {
  ObservedExecution::TraceSource other = options.source;
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

void keep_result(const ObservedExecution::Run& run,
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
  const std::optional<ObservedExecution::Run> run = open_run(context, options.run);
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
    const analysis::TraceReport::Difference difference =
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
