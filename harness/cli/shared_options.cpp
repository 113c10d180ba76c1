// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/shared_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/session/mlperf/mlperf_submission.hpp"
#include "harness/session/run/suite_run.hpp"
#include "harness/suite/suite.hpp"
#include "harness/worker/protocol/worker_service.hpp"

namespace plumb::cli {
namespace {

constexpr const char* kEmpty =
    "the value is empty: give one, or leave the option out (is a variable not set?)";

std::vector<CLI::App*> list_commands(CLI::App& command) {
  std::vector<CLI::App*> all{&command};
  for (CLI::App* const below : command.get_subcommands([](CLI::App*) { return true; })) {
    const std::vector<CLI::App*> deeper = list_commands(*below);
    all.insert(all.end(), deeper.begin(), deeper.end());
  }
  return all;
}

/// Returns a check that an option makes before its own, so that every option says the same.
CLI::Validator not_empty() {
  return {[](std::string& value) { return value.empty() ? std::string(kEmpty) : std::string(); },
          std::string()};
}

std::string refuse_infinite(const std::string& value) {
  return std::isfinite(std::strtod(value.c_str(), nullptr))
             ? ""
             : fmt::format("'{}' is not a finite number", value);
}

/// Returns why a text is not a number or an identifier of a GPU. Empty: it is one.
std::string refuse_device(const std::string& text) {
  constexpr std::size_t kMaxDigits = 4;
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF-";
  constexpr std::string_view kBegin = "GPU-";
  const bool number =
      text.size() <= kMaxDigits && text.find_first_not_of(kDigits) == std::string::npos;
  const bool identifier = text.size() <= worker::kMaxDeviceName && text.starts_with(kBegin) &&
                          text.size() > kBegin.size() &&
                          text.find_first_not_of(kHexDigits, kBegin.size()) == std::string::npos;
  return number || identifier
             ? ""
             : fmt::format(
                   "'{:.40}' is neither the number of a GPU (0, 1 …) nor its identifier or "
                   "the beginning of it (GPU-…)",
                   text);
}

}  // namespace

void check_values(CLI::App& program) {
  for (CLI::App* const command : list_commands(program)) {
    for (CLI::Option* const option : command->get_options()) {
      if (option->get_items_expected_max() == 0) {
        continue;  // a flag
      }
      option->transform(not_empty());  // Unlike check(), it comes first.
      if (option->get_type_name().starts_with("FLOAT")) {
        option->check(refuse_infinite);
      }
    }
  }
}

void refuse_empty_values(CLI::App& program, std::span<char* const> arguments) {
  std::set<std::string, std::less<>> names;
  for (CLI::App* const command : list_commands(program)) {
    for (const CLI::Option* const option : command->get_options()) {
      names.insert(option->get_lnames().begin(), option->get_lnames().end());
    }
  }
  for (const char* const argument : arguments) {
    std::string_view name = argument;
    if (name == "--") {
      return;
    }
    if (name.starts_with("--") && name.ends_with('=')) {
      name.remove_prefix(2);
      name.remove_suffix(1);
      if (names.contains(name)) {
        throw CLI::ValidationError(fmt::format("--{}", name), kEmpty);
      }
    }
  }
}

CLI::Validator positive_number() {
  return {[](std::string& value) {
            const double number = std::strtod(value.c_str(), nullptr);
            return number > 0.0 ? "" : fmt::format("'{}' is not a number above 0", value);
          },
          "POSITIVE"};
}

CLI::Option* add_device_option(CLI::App& command, std::string& device) {
  return command
      .add_option("--device",
                  device,
                  "the GPU to measure on: its number as the driver counts, or its identifier "
                  "(GPU-…) or the beginning of that; default: the first")
      ->check([](const std::string& text) { return refuse_device(text); })
      ->type_name("NUMBER|GPU-…");
}

CLI::Option* add_stack_option(CLI::App& command, std::string& stack) {
  return command.add_option("--stack", stack, "library versions to run with")
      ->capture_default_str();
}

void add_worker_options(CLI::App& command, session::WorkerChoice& worker) {
  command.add_option("--threads", worker.threads, "threads of the worker")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  add_device_option(command, worker.device);
}

CLI::Option* add_mode_option(CLI::App& command, std::string& mode) {
  return command.add_option("--mode", mode, "how the model is executed")->capture_default_str();
}

CLI::Option* add_duration_option(CLI::App& command,
                                 const std::string& name,
                                 Seconds& duration,
                                 const std::string& initial,
                                 const std::string& help) {
  duration = suite::parse_duration(initial);
  return command
      .add_option_function<std::string>(
          name,
          [&duration](const std::string& text) { duration = suite::parse_duration(text); },
          help)
      ->default_str(initial);
}

CLI::Option* add_duration_option(CLI::App& command,
                                 const std::string& name,
                                 std::optional<Seconds>& duration,
                                 const std::string& help) {
  return command.add_option_function<std::string>(
      name, [&duration](const std::string& text) { duration = suite::parse_duration(text); }, help);
}

CLI::Option* add_row_timeout(CLI::App& command, Seconds& timeout) {
  return add_duration_option(
      command, "--row-timeout", timeout, "60s", "how long a worker may be silent");
}

results::CacheMode read_cache_option(const std::string& text) {
  const std::optional<results::CacheMode> cache = results::parse_cache_mode(text);
  if (!cache) {
    throw Error(Error::Kind::kUser,
                fmt::format("'--cache {}' is not a cache mode: use none, weights or all", text));
  }
  return *cache;
}

namespace {

bool is_server(loadgen::ScenarioName scenario) {
  return loadgen::load_scenario(scenario) == loadgen::RequestedLoad::Scenario::kServer;
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

void check_submitter(const session::SuiteRun::Options& suite_run) {
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
                const session::SuiteRun::Options& suite_run,
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

void add_load_options(CLI::App& run, LoadOptions& options, session::SuiteRun::Options& suite_run) {
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
           const session::SuiteRun::Options& suite_run,
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
      suite::Scenario::Settings& settings = scenario.settings;
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
