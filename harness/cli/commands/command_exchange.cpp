// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "harness/base/digest.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/base/ulid.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/importers/imported_run.hpp"
#include "harness/importers/result_files.hpp"
#include "harness/serve/store_metrics.hpp"
#include "harness/session/stored/stored_history.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/store/store.hpp"
#include "harness/suite/suite.hpp"
#include "harness/terminal/terminal.hpp"
#include "reporting/exchange/exchange_formats.hpp"
#include "reporting/prometheus/metric_families.hpp"
#include "reporting/prometheus/suite_metrics.hpp"

namespace plumb::cli {
namespace {

struct ExportOptions {
  bool open_metrics = false;
  bool otava = false;
  bool asv = false;
  bool benchmark_action = false;
  session::HistoryQuery query;
  std::string output;
  double since_days = 0.0;
  double step_seconds = 0.0;
  std::size_t layers = 10;
  std::vector<std::string> labels;
};

/// Reads NAME=VALUE pairs. Throws Error{kUser} for a name that Prometheus does not accept, or one
/// that is there twice.
reporting::MetricLabels parse_labels(const std::vector<std::string>& texts) {
  reporting::MetricLabels labels;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
      return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    });
    const bool known = std::any_of(
        labels.begin(), labels.end(), [&](const auto& label) { return label.name == name; });
    if (equals == std::string::npos || name.empty() || !plain || known ||
        (name.front() >= '0' && name.front() <= '9') || name.starts_with("__")) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' is not a label: write NAME=VALUE, such as job=plumb; a name "
                              "has letters, digits and '_', and occurs once",
                              text));
    }
    reporting::add_label(labels, name, reporting::label_text(text.substr(equals + 1)));
  }
  return labels;
}

bool is_wanted(Timestamp from, Timestamp now, const ExportOptions& options) {
  return options.since_days <= 0.0 || Seconds(now - from).count() <= options.since_days * 86400.0;
}

/// Adds each host after each of its runs. Its class is that of so many runs before.
void add_hosts(const session::SessionContext::Archive& archive,
               const std::vector<results::RunRecord>& newest_first,
               const ExportOptions& options,
               Timestamp now,
               reporting::OpenMetricsHistory& history) {
  constexpr std::size_t kRunsOfClass = 200;
  std::vector<results::RunRecord> finished;
  std::copy_if(newest_first.begin(),
               newest_first.end(),
               std::back_inserter(finished),
               [](const results::RunRecord& run) {
                 return run.state == results::RunState::kFinished && run.finished;
               });
  serve::MetricsPublisher::History::Controls controls;
  for (std::size_t i = finished.size(); i-- > 0;) {
    if (!is_wanted(*finished[i].finished, now, options)) {
      continue;
    }
    const auto known = std::span(finished).subspan(i, std::min(kRunsOfClass, finished.size() - i));
    controls.read(archive.store, known);
    std::vector<reporting::HostMetrics> hosts = controls.hosts(known);
    std::erase_if(hosts, [&](const reporting::HostMetrics& host) {
      return host.health.newest.run != finished[i].header.id;
    });
    history.add(hosts, *finished[i].finished, now);
  }
}

reporting::OpenMetricsHistory collect_history(const session::SessionContext::Archive& archive,
                                              const std::vector<results::RunRecord>& newest_first,
                                              const ExportOptions& options) {
  const Timestamp now = current_time();
  std::map<analysis::RunSeries, std::vector<results::RunRecord>> series;
  for (const results::RunRecord& run : newest_first) {
    if (run.state == results::RunState::kFinished && run.finished) {
      series[analysis::run_series_of(run.header)].push_back(run);
    }
  }
  reporting::OpenMetricsHistory result(parse_labels(options.labels));
  for (const auto& [name, runs] : series) {
    serve::MetricsPublisher::History history(options.layers);
    for (std::size_t i = runs.size(); i-- > 0;) {
      const Timestamp from = *runs[i].finished;
      if (!is_wanted(from, now, options)) {
        continue;
      }
      const Timestamp until = i == 0 ? now : std::max(*runs[i - 1].finished, from);
      result.add(history.suites(archive, std::span(runs).subspan(i)), from, until);
    }
    spdlog::info("{} runs of suite {} on stack {}", runs.size(), name.suite, name.stack);
  }
  add_hosts(archive, newest_first, options, now, result);
  return result;
}

/// Writes one file, or to standard output if there is no name.
void write_to(const CommandContext& context,
              const std::string& file,
              const std::function<void(std::ostream&)>& write) {
  if (file.empty()) {
    context.output.pass_bytes();
    write(std::cout);
  } else {
    write_whole_file(file, write);
  }
}

/// Writes the history of one suite for another tool.
void export_exchange(const CommandContext& context,
                     const store::Store& store,
                     const ExportOptions& options) {
  const analysis::SuiteHistory history = session::read_history(store, options.query);
  if (history.series.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("the newest run of {} has no times", history.name.suite));
  }
  if (!options.asv) {
    write_to(context, options.output, [&](std::ostream& out) {
      (options.otava ? reporting::write_otava : reporting::write_benchmark_action)(history, out);
    });
  } else if (options.output.empty()) {
    throw Error(Error::Kind::kUser, "--asv writes a folder: name it with -o");
  } else {
    for (const auto& file : reporting::asv_files(history)) {
      const std::filesystem::path path = std::filesystem::path(options.output) / file.first;
      make_folder(path.parent_path());
      write_whole_file(path, [&](std::ostream& out) { out << file.second; });
    }
  }
  spdlog::info("{} runs and {} series of {}",
               history.runs.size(),
               history.series.size(),
               history.name.suite);
}

void export_history(const CommandContext& context, const ExportOptions& options) {
  const int formats = (options.open_metrics ? 1 : 0) + (options.otava ? 1 : 0) +
                      (options.asv ? 1 : 0) + (options.benchmark_action ? 1 : 0);
  if (formats != 1) {
    throw Error(Error::Kind::kUser,
                "say what to write, one of --openmetrics, --otava, --asv, --benchmark-action (runs "
                "themselves: plumb store export)");
  }
  const auto store = store::open_store(context.store_url());
  if (!options.open_metrics) {
    export_exchange(context, *store, options);
    return;
  }
  reporting::OpenMetricsHistory history =
      collect_history({*store, context.models}, store->runs(), options);
  std::optional<std::chrono::microseconds> step;
  if (options.step_seconds > 0.0) {
    step = std::chrono::microseconds(static_cast<std::int64_t>(options.step_seconds * 1e6));
  }
  std::size_t samples = 0;
  write_to(context, options.output, [&](std::ostream& out) { samples = history.write(out, step); });
  spdlog::info("{} samples", samples);
}

}  // namespace

void add_export(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* const command =
      app.add_subcommand("export", "write the history for Prometheus and other tools");
  command->add_flag("--openmetrics",
                    options->open_metrics,
                    "as OpenMetrics: promtool tsdb create-blocks-from openmetrics FILE");
  command->add_flag(
      "--otava", options->otava, "as CSV for Apache Otava: a line for each run, times in seconds");
  command->add_flag("--asv", options->asv, "as a folder of results of airspeed velocity; needs -o");
  command->add_flag(
      "--benchmark-action", options->benchmark_action, "as the data.js of github-action-benchmark");
  command->add_option(
      "--suite",
      options->query.suite,
      "suite for --otava, --asv and --benchmark-action; default: that of the newest run");
  command->add_option(
      "--stack", options->query.stack, "stack for the same; default: that of the newest run");
  command->add_option(
      "-o,--output", options->output, "file to write, or --asv's folder; default: standard output");
  command
      ->add_option(
          "--since", options->since_days, "only runs that finished within this number of days")
      ->check(CLI::Range(0.0, 36500.0));
  command
      ->add_option(
          "--step",
          options->step_seconds,
          "repeat each value at this interval in seconds while it is current, as scraping does, "
          "because Prometheus forgets a value after 300; default: one value for each run")
      ->check(CLI::Range(1.0, 86400.0 * 365));
  command->add_option(
      "--label",
      options->labels,
      "NAME=VALUE that every series gets, as scraping gives it job and instance; may be repeated");
  command->add_option("--layers", options->layers, "slowest layers of each model")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command->callback([&context, options] { export_history(context, *options); });
}

namespace {

struct ImportOptions {
  importers::ResultFiles results;
  std::string at;
  std::string keys;                 ///< file
  std::string suite;                ///< whose models the rows are layers of
  std::vector<std::string> models;  ///< likewise
  importers::ImportedResults::Run::Name name;
};

std::string read_bytes(const std::filesystem::path& file, std::size_t at_most) {
  std::error_code fault;
  const std::uintmax_t size = std::filesystem::is_regular_file(file, fault)
                                  ? std::filesystem::file_size(file, fault)
                                  : std::uintmax_t{at_most};
  std::ifstream in(file, std::ios::binary);
  if (fault || !in || !std::filesystem::is_regular_file(file, fault)) {
    throw Error(Error::Kind::kUser,
                fmt::format("cannot read '{}': check the path and its permissions", file.string()));
  }
  if (size > at_most) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("'{}' has {} bytes; at most {} are read", file.string(), size, at_most));
  }
  std::string bytes(size, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(size));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

importers::KeyMapping read_mapping(const std::string& file) {
  if (file.empty()) {
    return {};
  }
  try {
    return importers::read_key_mapping(read_bytes(file, importers::kMaxResultFile));
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("'{}': {}", file, error.what()));
  }
}

/// Logs what of the files and of the mapping is not used. Throws Error{kUser} if the mapping has no
/// name of a benchmark.
void report_unused(const ImportOptions& options,
                   std::span<const importers::ResultFiles::Run> sources) {
  std::size_t left_out = 0;
  for (const importers::ResultFiles::Run& source : sources) {
    for (const importers::ImportedResults& process : source.processes) {
      left_out += process.left_out;
    }
  }
  if (left_out > 0) {
    spdlog::warn("{} values are not times and were left out", left_out);
  }
  const std::vector<std::string> unused = importers::unused_names(options.name.keys, sources);
  if (unused.empty()) {
    return;
  }
  const std::string which = fmt::format("{} of {} names in '{}' are not in any file, such as '{}'",
                                        unused.size(),
                                        options.name.keys.size(),
                                        options.keys,
                                        unused.front());
  if (unused.size() == options.name.keys.size()) {
    throw Error(Error::Kind::kUser, which + "; nothing was imported");
  }
  spdlog::warn("{}", which);
}

/// Returns the runs of a suite by the digest of the results that they were made of.
std::map<std::string, results::RunId> imported_runs(const store::Store& store,
                                                    const std::string& suite) {
  std::map<std::string, results::RunId> known;
  for (const results::RunRecord& run : store.runs()) {
    const results::Facts& facts = run.header.environment.facts;
    const auto digest = facts.find("import.sha256");
    if (run.header.suite == suite && digest != facts.end()) {
      known.emplace(digest->second, run.header.id);
    }
  }
  return known;
}

/// Returns the models whose layers the rows are, as a run keeps them to compute bounds.
std::string resolved_models(const session::ModelSource& source, const ImportOptions& wanted) {
  const suite::ResolvedSuite resolved =
      chosen_suite(source, {.suite = wanted.suite, .models = wanted.models});
  return session::suite_for_store(resolved, session::load_models(source, resolved, {}));
}

/// Stores the runs that are not in the store yet. Returns their records.
std::vector<results::RunRecord> store_runs(const CommandContext& context,
                                           const ImportOptions& options,
                                           std::span<const importers::ResultFiles::Run> sources) {
  const bool has_models = !options.suite.empty() || !options.models.empty();
  const std::string models = has_models ? resolved_models(context.models, options) : std::string();
  std::vector<importers::ImportedResults::Run> runs;
  for (const importers::ResultFiles::Run& source : sources) {
    importers::ImportedResults::Run& run = runs.emplace_back(
        importers::make_imported_run(options.name, source.processes, source.files, current_time()));
    run.header.environment.facts["import.sha256"] = source.digest;
    run.header.command = {"plumb", "import", options.name.format};
    run.header.command.insert(run.header.command.end(), source.files.begin(), source.files.end());
    if (!models.empty()) {
      run.header.resolved_suite = models;
      run.header.suite_hash = sha256(models);
    }
  }
  const auto store = store::open_store(context.store_url());
  std::map<std::string, results::RunId> known = imported_runs(*store, options.name.suite);
  std::vector<results::RunRecord> records;
  std::string there;
  for (importers::ImportedResults::Run& run : runs) {
    run.header.id = new_ulid();
    const auto [place, added] =
        known.try_emplace(run.header.environment.facts.at("import.sha256"), run.header.id);
    if (!added) {
      there = place->second;
      continue;
    }
    store->begin_run(run.header);
    store->append(run.header.id, run.rows);
    store->finish_run(run.header.id, results::RunState::kFinished, run.header.started);
    records.push_back(store->find_run(run.header.id));
  }
  if (records.empty()) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("the store already has these results as run {}; nothing was imported", there));
  }
  if (records.size() < runs.size()) {
    spdlog::info(
        "{} of {} runs were in the store already", runs.size() - records.size(), runs.size());
  }
  return records;
}

nlohmann::json run_json(const results::RunRecord& record) {
  return {{"run", record.header.id},
          {"suite", record.header.suite},
          {"environment", record.header.environment.id()},
          {"started", to_text(record.header.started)},
          {"rows", {{"ok", record.rows_ok}, {"failed", record.rows_failed}}}};
}

void import_results(const CommandContext& context, ImportOptions options) {
  if (!options.at.empty()) {
    options.name.started = parse_timestamp(options.at);
  }
  options.name.format = options.results.format;
  options.name.keys = read_mapping(options.keys);
  const std::vector<importers::ResultFiles::Run> sources =
      importers::read_result_files(options.results, read_bytes);
  if (options.name.started && sources.size() > 1) {
    throw Error(Error::Kind::kUser,
                fmt::format("the files have {} runs, but --at gives the time of one: leave it out; "
                            "nothing was imported",
                            sources.size()));
  }
  report_unused(options, sources);
  const std::vector<results::RunRecord> records = store_runs(context, options, sources);
  if (context.json) {
    nlohmann::json document = run_json(records.back());
    document["schema_version"] = 1;
    document["runs"] = nlohmann::json::array();
    for (const results::RunRecord& record : records) {
      document["runs"].push_back(run_json(record));
    }
    std::cout << json_text(document, 2) << '\n';
    return;
  }
  for (const results::RunRecord& record : records) {
    std::cout << fmt::format("run {} of {}: {} rows with times, {} without\n",
                             record.header.id,
                             terminal::message_line(record.header.suite),
                             record.rows_ok,
                             record.rows_failed);
  }
}

}  // namespace

void add_import(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<ImportOptions>();
  CLI::App* const command =
      app.add_subcommand("import", "store results of other tools as runs, to compare and watch");
  command
      ->add_option("FORMAT",
                   options->results.format,
                   "google-benchmark, nvbench, otava, asv or benchmark-action; `plumb trace MODEL "
                   "--file FILE` reads traces")
      ->required()
      ->check(CLI::IsMember(importers::result_formats()));
  command
      ->add_option("FILE",
                   options->results.files,
                   "results; several files of google-benchmark or nvbench are processes of one run")
      ->required();
  command
      ->add_option("--name",
                   options->name.suite,
                   "name of the suite that these benchmarks form, such as mylib")
      ->required();
  command->add_option("--version",
                      options->name.version,
                      "version of what was measured, such as a commit; stored as a fact");
  command->add_option("--system",
                      options->name.system,
                      "name of the machine; needed where host names change from run to run");
  command->add_option(
      "--at",
      options->at,
      "when it was measured (RFC 3339, UTC); default: what the file says, else now");
  command
      ->add_option(
          "--unit", options->results.unit, "unit of otava's values, which its files do not contain")
      ->check(CLI::IsMember({"ns", "us", "ms", "s"}));
  command->add_option(
      "--metric",
      options->results.metrics,
      "a column of otava to take; may be repeated; default: every column of numbers");
  CLI::Option* const keys = command->add_option(
      "--keys",
      options->keys,
      "a JSON file that relates names to layer keys: {\"keys\":{\"NAME\":\"LAYER KEY\"}}");
  command
      ->add_option("--suite",
                   options->suite,
                   "a suite whose models' bounds are computed from the rows, with --keys")
      ->needs(keys);
  command
      ->add_option("--model",
                   options->models,
                   "a model whose bounds are computed in the same way: a built-in name or an .onnx "
                   "file; may be repeated")
      ->needs(keys);
  command->callback([&context, options] { import_results(context, *options); });
}

}  // namespace plumb::cli
