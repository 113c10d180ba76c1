// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/history/run_series.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/cli/shared_options.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/session/stored/run_analysis.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/store/export_line.hpp"
#include "harness/store/store.hpp"
#include "harness/suite/suite.hpp"
#include "harness/terminal/terminal.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::cli {
namespace {

/// Prints what a store command did, as text or as one JSON document.
void say(const CommandContext& context, const std::string& text, nlohmann::json facts) {
  if (context.json) {
    facts["schema_version"] = 1;
    std::cout << json_text(facts, 2) << '\n';
  } else {
    std::cout << text << '\n';
  }
}

/// Returns the runs of which some came from an export of format 1. A store that cannot list its
/// runs says so among the faults.
std::vector<results::RunId> unguarded_runs(const store::Store& store) {
  std::vector<results::RunId> unguarded;
  try {
    for (const results::RunRecord& run : store.runs()) {
      if (!store.derived(run.header.id, store::kUnguardedRecord).empty()) {
        unguarded.push_back(run.header.id);
      }
    }
  } catch (const Error&) {
    unguarded.clear();
  }
  return unguarded;
}

void verify(CommandContext& context) {
  const auto store = store::open_store(context.store_url());
  const std::vector<std::string> faults = store->verify();
  const std::vector<results::RunId> unguarded = unguarded_runs(*store);
  std::string text = faults.empty() ? "the store is sound: every checksum and reference holds"
                                    : fmt::format("{} faults:", faults.size());
  for (const std::string& fault : faults) {
    text += "\n  " + terminal::message_line(fault);
  }
  if (!faults.empty()) {
    text += "\nto restore, " + store::restore_advice(context.store_url());
  }
  for (const results::RunId& run : unguarded) {
    text += fmt::format(
        "\nrun {} is unguarded: it came from an export of format 1, whose samples and derived "
        "records have no digest",
        run);
  }
  say(context,
      text,
      {{"faults", faults}, {"store", context.store_url()}, {"unguarded_runs", unguarded}});
  context.exit_status = faults.empty() ? 0 : 1;
}

void export_runs(CommandContext& context,
                 const std::vector<std::string>& names,
                 const std::string& file) {
  const auto store = store::open_store(context.store_url());
  std::vector<results::RunId> runs;
  for (const std::string& name : names) {
    runs.push_back(store->find_run(name).header.id);
  }
  if (file.empty() || file == "-") {
    context.output.pass_bytes();
    store->export_to(std::cout, runs);
    return;
  }
  write_whole_file(file, [&](std::ostream& out) { store->export_to(out, runs); });
}

void import_runs(CommandContext& context, const std::string& file) {
  const auto store = store::open_store(context.store_url());
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    throw Error(Error::Kind::kUser, fmt::format("cannot read '{}': check the path", file));
  }
  const std::size_t count = [&] {
    try {
      return store->import_from(in);
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("'{}': {}", file, error.what()));
    }
  }();
  say(context, fmt::format("{} new runs", count), {{"new_runs", count}});
}

std::chrono::microseconds age_of(const std::string& duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(suite::parse_duration(duration));
}

/// Ages from which the garbage collection removes something, as the user gave them.
struct GarbageAges {
  std::string runs = "90d";
  std::string profiles;  ///< empty: as for runs
};

/// Returns what became of the room that a store takes.
std::string room_text(const store::Store::Garbage& collected, Bytes before, Bytes after) {
  if (collected.keeps_free_room) {
    return fmt::format(
        "The store takes {} on its server, which keeps the room of what was removed for new rows",
        reporting::bytes_text(after));
  }
  return fmt::format(
      "The store went from {} to {}", reporting::bytes_text(before), reporting::bytes_text(after));
}

void collect_garbage(CommandContext& context, const GarbageAges& ages) {
  const std::string& older_than = ages.runs;
  const Timestamp now = current_time();
  const Timestamp profiles_before = now - age_of(ages.profiles.empty() ? ages.runs : ages.profiles);
  const auto store = store::open_store(context.store_url());
  const Bytes before = store->size();
  const store::Store::Garbage collected =
      store->collect_garbage(now - age_of(older_than), profiles_before);
  const Bytes after = store->size();
  const std::size_t left = store->runs().size();
  say(context,
      fmt::format(
          "removed {} run{} older than {}; {} stay{} (newer, tagged, baselines, and what they "
          "need). Samples or races of {} more rows were dropped{}. {}",
          collected.runs,
          collected.runs == 1 ? "" : "s",
          older_than,
          left,
          left == 1 ? "s" : "",
          collected.rows,
          collected.profiles > 0 ? fmt::format(", and {} profiles", collected.profiles) : "",
          room_text(collected, before, after)),
      {{"removed_runs", collected.runs},
       {"runs", left},
       {"rows", collected.rows},
       {"removed_profiles", collected.profiles},
       {"before_bytes", before.value},
       {"after_bytes", after.value}});
}

/// Sends what waits for the store's server. Exit status 75 if something still waits.
void sync(CommandContext& context) {
  const std::optional<std::filesystem::path> folder = session::spool_folder();
  const std::vector<store::Store::SpooledRun> runs =
      folder ? store::sync_spools(context.store_url(), *folder)
             : std::vector<store::Store::SpooledRun>();
  std::string text;
  nlohmann::json list = nlohmann::json::array();
  for (const store::Store::SpooledRun& run : runs) {
    text += fmt::format("run {}: {} rows stored", run.run, run.sent_rows);
    if (!run.problem.empty()) {
      text +=
          fmt::format(", {} wait in '{}': {}", run.waiting_rows, run.file.string(), run.problem);
      context.exit_status = static_cast<int>(Error::Kind::kTryAgain);
    }
    text += '\n';
    list.push_back({{"run", run.run},
                    {"stored_rows", run.sent_rows},
                    {"waiting_rows", run.waiting_rows},
                    {"file", run.file.string()},
                    {"problem", run.problem}});
  }
  text = text.empty() ? "nothing waits for the server" : text.substr(0, text.size() - 1);
  say(context, text, {{"runs", list}});
}

}  // namespace

void add_store(CLI::App& app, CommandContext& context) {
  CLI::App* const store = app.add_subcommand("store", "check, move and shrink the result store");
  store->require_subcommand(1);
  store->add_subcommand("migrate", "bring the store to this program's schema")
      ->callback([&context] {
        const auto opened = store::open_store(context.store_url());
        say(context,
            fmt::format("{} has schema version {}", context.store_url(), opened->schema_version()),
            {{"store", context.store_url()}, {"store_schema_version", opened->schema_version()}});
      });
  store->add_subcommand("verify", "check every checksum and reference")->callback([&context] {
    verify(context);
  });

  store->add_subcommand("sync", "store what was measured while the store's server was away")
      ->callback([&context] { sync(context); });

  // CLI11 keeps references to option values; they live as long as the callbacks that hold them.
  const auto names = std::make_shared<std::vector<std::string>>();
  const auto out = std::make_shared<std::string>();
  CLI::App* const exporting = store->add_subcommand("export", "write runs as JSON lines");
  exporting->add_option("RUN", *names, "runs to export; default: all");
  exporting->add_option("-o,--output", *out, "file; default stdout");
  exporting->callback([&context, names, out] { export_runs(context, *names, *out); });

  const auto in = std::make_shared<std::string>();
  CLI::App* const importing = store->add_subcommand(
      "import", "read what export wrote; runs that are in the store are skipped");
  importing->add_option("FILE", *in, "JSON lines")->required();
  importing->callback([&context, in] { import_runs(context, *in); });

  const auto ages = std::make_shared<GarbageAges>();
  CLI::App* const gc =
      store->add_subcommand("gc",
                            "remove old runs and shrink the file; tagged runs, baselines and what "
                            "they need stay");
  gc->add_option("--older-than", ages->runs, "age, such as 90d")->capture_default_str();
  gc->add_option("--profiles-older-than",
                 ages->profiles,
                 "age from which runs without a tag lose their profiles; default: --older-than");
  gc->callback([&context, ages] { collect_garbage(context, *ages); });
}

void add_runs(CLI::App& app, CommandContext& context) {
  CLI::App* const command = app.add_subcommand("runs", "list the runs in the store, newest first");
  const auto labels = std::make_shared<std::vector<std::string>>();
  command
      ->add_option("--label",
                   *labels,
                   "only runs with this label, NAME=VALUE, where the beginning of the value is "
                   "enough, such as commit=4f2a; may be repeated")
      ->allow_extra_args(false);
  command->callback([&context, labels] {
    const results::RunLabels wanted = results::parse_labels(*labels);
    const auto store = store::open_store(context.store_url());
    std::vector<results::RunRecord> runs = store->runs();
    std::erase_if(runs, [&](const results::RunRecord& run) {
      return !results::has_labels(run.header.environment, wanted);
    });
    reporting::write_runs(runs, context.output_mode(), std::cout);
  });
}

namespace {

struct BaselineSetOptions {
  std::string run;       ///< or, with `runs`, the suite to measure
  SuiteChoice choice;    ///< with `runs`: the models to measure
  std::size_t runs = 0;  ///< to measure; 0: accept one that there is
  session::WorkerChoice worker;
  std::string name;
  std::string who;
  std::string reason;
  bool partial = false;  ///< an interrupted run will do
};

/// Measures a suite several times and returns the run in the middle (middle_run()). From each run
/// the store learns how much runs of unchanged code differ. Throws Error{kTryAgain} if one of them
/// is not finished.
results::RunRecord measure_runs(CommandContext& context,
                                const BaselineSetOptions& options,
                                store::Store& store) {
  RunOptions run;
  run.choice = options.choice;
  run.choice.suite = options.run;
  run.reuse = "never";
  run.suite_run.worker = options.worker;
  export_models(run.choice, {options.worker.stack}, context.stop);
  suite::ResolvedSuite suite = requested_suite(context.models, run);
  const std::vector<session::PlannedModel> models = session::prepare_models(context.models, suite);
  std::vector<results::RunId> ids;
  std::vector<analysis::LearnedNoise::RunTimes> times;
  for (std::size_t i = 1; i <= options.runs && !context.stop.load(); ++i) {
    spdlog::info("run {} of {}", i, options.runs);
    const results::RunId id =
        session::run_suite(
            context.session(store), suite_run_options(run, options.worker.stack), suite, models)
            .run;
    const analysis::RunReport report =
        session::analyze_run({store, context.models}, store.find_run(id), {});
    session::store_analysis(store, report);
    if (report.run.state != results::RunState::kFinished) {
      break;
    }
    ids.push_back(id);
    times.push_back(
        analysis::run_times_from_json(store.derived(id, results::kRunTimesRecord).back().payload));
  }
  if (ids.size() < options.runs) {
    throw Error(
        Error::Kind::kTryAgain,
        fmt::format(
            "{} of {} runs were finished, so no baseline is set; the store keeps these runs",
            ids.size(),
            options.runs));
  }
  return store.find_run(ids[analysis::middle_run(times)]);
}

void set_baseline(CommandContext& context, const BaselineSetOptions& options) {
  if (options.runs == 0 && options.run.empty()) {
    throw Error(Error::Kind::kUser,
                "name the run to accept: RUN, or --runs with a suite or --model to measure");
  }
  const auto store = store::open_store(context.store_url());
  const results::RunRecord run =
      options.runs == 0 ? store->find_run(options.run) : measure_runs(context, options, *store);
  const std::string name = options.name.empty() ? "baseline/" + run.header.suite : options.name;
  session::accept_baseline(*store,
                           run,
                           name,
                           options.who.empty() ? session::user_name() : options.who,
                           options.reason,
                           options.partial);
  terminal::say(fmt::format("{} is now run {}", name, run.header.id));
}

}  // namespace

void add_baseline(CLI::App& app, CommandContext& context) {
  CLI::App* const baseline =
      app.add_subcommand("baseline", "accept and list the runs that later runs are compared with");
  baseline->require_subcommand(1);

  const auto options = std::make_shared<BaselineSetOptions>();
  CLI::App* const set = baseline->add_subcommand(
      "set", "accept a run as the baseline; the store keeps who accepted it, when and why");
  set->add_option("RUN",
                  options->run,
                  "a finished run: id, unique prefix, tag or @latest; with --runs a suite, which "
                  "may be left out with --model");
  CLI::Option* const runs = set->add_option("--runs",
                                            options->runs,
                                            "measure the suite this many times and accept the run "
                                            "in the middle; the others show the noise between runs")
                                ->check(CLI::Range(1, 100));
  add_model_choice(*set, options->choice);
  set->get_option("--model")->needs(runs);
  add_stack_option(*set, options->worker.stack)->needs(runs);
  add_worker_options(*set, options->worker);
  set->get_option("--threads")->needs(runs);
  set->get_option("--device")->needs(runs);
  set->add_option("--name",
                  options->name,
                  "its tag; default: baseline/SUITE, which `plumb serve` compares runs with");
  set->add_flag("--partial",
                options->partial,
                "accept a run that ended early, by its budget or an interruption; what it lacks is "
                "not compared")
      ->excludes(runs);
  set->add_option("--reason", options->reason, "why it is accepted");
  set->add_option("--who", options->who, "who accepts it; default: the user's name");
  set->callback([&context, options] { set_baseline(context, *options); });

  CLI::App* const list =
      baseline->add_subcommand("list", "present and earlier baselines, newest first");
  list->callback([&context] {
    reporting::write_baselines(session::baselines_in(*store::open_store(context.store_url())),
                               context.output_mode(),
                               std::cout);
  });
}

}  // namespace plumb::cli
