// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/cli/command.hpp"
#include "harness/serve/run_history.hpp"
#include "harness/session/stored/stored_history.hpp"
#include "harness/suite/suite.hpp"
#include "harness/terminal/standard_output.hpp"
#include "reporting/exchange/exchange_formats.hpp"
#include "reporting/prometheus/gauge_family.hpp"
#include "reporting/prometheus/metric_families.hpp"

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
void add_hosts(const session::Archive& archive,
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
  serve::ControlHistory controls;
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

reporting::OpenMetricsHistory collect_history(const session::Archive& archive,
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
    serve::RunHistory history(options.layers);
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
    for (const reporting::ExchangedFile& file : reporting::asv_files(history)) {
      const std::filesystem::path path = std::filesystem::path(options.output) / file.path;
      make_folder(path.parent_path());
      write_whole_file(path, [&](std::ostream& out) { out << file.text; });
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

}  // namespace plumb::cli
