// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/load_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/cli/option_checks.hpp"
#include "harness/session/mlperf/mlperf_logs.hpp"
#include "harness/session/run/suite_run_setup.hpp"

namespace plumb::cli {
namespace {

bool is_server(loadgen::ScenarioName scenario) {
  return loadgen::load_scenario(scenario) == loadgen::LoadScenario::kServer;
}

std::vector<std::string> scenario_words() {
  std::vector<std::string> words;
  words.reserve(loadgen::kScenarioNames.size());
  for (const loadgen::ScenarioName scenario : loadgen::kScenarioNames) {
    words.emplace_back(to_text(scenario));
  }
  return words;
}

std::optional<Seconds> read_duration(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(suite::parse_duration(text));
}

template <typename Value>
void override_by(const std::optional<Value>& value, std::optional<Value>& setting) {
  if (value) {
    setting = value;
  }
}

/// Returns the scenario as the model lists it, or else with MLPerf's percentile.
suite::Scenario scenario_for(const suite::ResolvedSuite::Model& model, loadgen::ScenarioName name) {
  const auto known = std::find_if(
      model.scenarios.begin(), model.scenarios.end(), [&](const suite::Scenario& scenario) {
        return scenario.name == name;
      });
  if (known != model.scenarios.end()) {
    return *known;
  }
  suite::Scenario scenario{name, {}, {}};
  scenario.limits.percentile = suite::standard_percentile(name);
  return scenario;
}

[[noreturn]] void refuse_unused(const char* option, const char* what) {
  throw Error(Error::Kind::kUser,
              fmt::format("'{}' needs {}: name one with --scenario", option, what));
}

void check_submitter(const session::SuiteRunOptions& suite_run) {
  const std::string& submitter = suite_run.mlperf_submitter;
  if (suite_run.mlperf_submission.empty() != submitter.empty()) {
    throw Error(Error::Kind::kUser,
                "a submission needs a folder and a submitter: give both --mlperf-submission and "
                "--mlperf-submitter, or neither");
  }
  if (!submitter.empty() && session::folder_name(submitter) != submitter) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' cannot name a submission's folder: use letters, digits, '-', '.' "
                            "and '_' for --mlperf-submitter",
                            submitter));
  }
}

void check_used(const LoadOptions& options,
                const session::SuiteRunOptions& suite_run,
                const suite::ResolvedSuite& suite) {
  bool any = false;
  bool server = false;
  bool training = false;
  for (const suite::ResolvedSuite::Model& model : suite.models) {
    training = training || !model.training.empty();
    for (const suite::Scenario& scenario : model.scenarios) {
      any = true;
      server = server || is_server(scenario.name);
    }
  }
  const std::pair<const char*, bool> of_any[] = {
      {"--duration", !options.duration.empty()},
      {"--max-batch", options.maximum_batch.has_value()},
      {"--batch-timeout", !options.batch_timeout.empty()},
      {"--lanes", options.lanes.has_value()},
      {"--performance-sample-count", suite_run.performance_sample_count.has_value()},
      {"--mlperf-submission", !suite_run.mlperf_submission.empty()},
      {"--accuracy", suite_run.accuracy}};
  for (const auto& [option, given] : of_any) {
    if (given && !any) {
      refuse_unused(option, "a scenario");
    }
  }
  if (!suite_run.mlperf_logs.empty() && !any && !training) {
    throw Error(
        Error::Kind::kUser,
        "'--mlperf-logs' needs something that MLPerf logs: a scenario (--scenario), or a step "
        "of training (--training)");
  }
  if (suite_run.accuracy && suite_run.mlperf_logs.empty() && suite_run.mlperf_submission.empty()) {
    throw Error(Error::Kind::kUser, "'--accuracy' needs a place for its log: add --mlperf-logs");
  }
  check_submitter(suite_run);
  if (options.target_rate && !server) {
    refuse_unused("--target-rate", "the scenario server");
  }
  if (!options.latency_limit.empty() && !server) {
    refuse_unused("--latency-limit", "the scenario server");
  }
}

}  // namespace

void add_load_options(CLI::App& run, LoadOptions& options, session::SuiteRunOptions& suite_run) {
  run.add_option("--scenario",
                 options.scenarios,
                 "load the models by this scenario of MLPerf, in place of the suite's; may be "
                 "repeated: single_stream, multi_stream, server, offline")
      ->check(CLI::IsMember(scenario_words()))
      ->group("Scenarios");
  run.add_option("--duration",
                 options.duration,
                 "run each scenario for this time, whatever the count, such as 30s; default: "
                 "MLPerf's 10 minutes and counts")
      ->group("Scenarios");
  run.add_option("--latency-limit",
                 options.latency_limit,
                 "latency limit of server at its percentile, such as 15ms")
      ->group("Scenarios");
  run.add_option("--target-rate",
                 options.target_rate,
                 "server's queries a second; default: the highest valid rate is searched for")
      ->check(positive_number())
      ->group("Scenarios");
  run.add_option("--max-batch",
                 options.maximum_batch,
                 "samples executed together, at most; default: 1, for multi_stream 8")
      ->check(CLI::Range(1, 1 << 20))
      ->group("Scenarios");
  run.add_option("--batch-timeout",
                 options.batch_timeout,
                 "how long a sample waits for others to fill a batch, such as 2ms; default: not at "
                 "all")
      ->group("Scenarios");
  run.add_option("--lanes",
                 options.lanes,
                 "batches executed at the same time, which share the --threads threads; default: 1")
      ->check(CLI::Range(1, 1024))
      ->group("Scenarios");
  run.add_option("--performance-sample-count",
                 suite_run.performance_sample_count,
                 "samples of the data set, which queries are drawn from; default: MLPerf's number "
                 "for the model, else 1024, as far as they fit into 1 GiB")
      ->check(CLI::Range(1, 1 << 26))
      ->group("Scenarios");
  run.add_option("--mlperf-logs",
                 suite_run.mlperf_logs,
                 "write the logs of each scenario, and of timed steps of training, in MLPerf's "
                 "formats below "
                 "this folder")
      ->group("Scenarios");
  run.add_option("--mlperf-submission",
                 suite_run.mlperf_submission,
                 "write each scenario below this folder as a submission to MLPerf's open division; "
                 "implies --accuracy")
      ->group("Scenarios");
  run.add_option("--mlperf-submitter",
                 suite_run.mlperf_submitter,
                 "name of the submitter, which names a folder")
      ->group("Scenarios");
  run.add_flag("--accuracy",
               suite_run.accuracy,
               "after each scenario, execute every sample of the data set once, compare each "
               "answer with the sample's answer alone, and write MLPerf's accuracy log")
      ->group("Scenarios");
}

void apply(const LoadOptions& options,
           const session::SuiteRunOptions& suite_run,
           suite::ResolvedSuite& suite) {
  const std::optional<Seconds> duration = read_duration(options.duration);
  const std::optional<Seconds> latency = read_duration(options.latency_limit);
  const std::optional<Seconds> timeout = read_duration(options.batch_timeout);
  for (suite::ResolvedSuite::Model& model : suite.models) {
    if (!options.scenarios.empty()) {
      std::vector<suite::Scenario> scenarios;
      for (const std::string& name : options.scenarios) {
        scenarios.push_back(scenario_for(model, loadgen::parse_scenario_name(name).value()));
      }
      model.scenarios = std::move(scenarios);
    }
    for (suite::Scenario& scenario : model.scenarios) {
      suite::ScenarioSettings& settings = scenario.settings;
      if (duration) {
        settings.minimum_duration.reset();
      }
      override_by(duration, settings.duration);
      override_by(timeout, settings.batch_timeout);
      override_by(options.maximum_batch, settings.maximum_batch);
      override_by(options.lanes, settings.lanes);
      if (is_server(scenario.name)) {
        override_by(options.target_rate, settings.target_rate);
        override_by(latency, scenario.limits.latency);
      }
    }
  }
  check_used(options, suite_run, suite);
}

}  // namespace plumb::cli
