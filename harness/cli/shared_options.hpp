// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/results/measurement.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/run/suite_run.hpp"
#include "harness/suite/suite.hpp"

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace plumb::cli {

/// Makes every option of a program and of its commands refuse an empty value, and every number one
/// that is not finite. Call it when the program has all its commands.
void check_values(CLI::App& program);

/// Refuses `--NAME=` without a value, which CLI11 takes for `--NAME` and the next word. Throws
/// CLI::ValidationError.
void refuse_empty_values(CLI::App& program, std::span<char* const> arguments);

/// Returns the check of a number that must be above 0.
[[nodiscard]] CLI::Validator positive_number();

/// Adds --device, which names one of several GPUs by its number or its identifier.
CLI::Option* add_device_option(CLI::App& command, std::string& device);

/// Adds --stack of one stack.
CLI::Option* add_stack_option(CLI::App& command, std::string& stack);

/// Adds --threads and --device.
void add_worker_options(CLI::App& command, session::WorkerChoice& worker);

/// Adds --mode of one execution of a model.
CLI::Option* add_mode_option(CLI::App& command, std::string& mode);

/// Adds an option that takes a duration, such as 10m. `initial` is its default.
CLI::Option* add_duration_option(CLI::App& command,
                                 const std::string& name,
                                 Seconds& duration,
                                 const std::string& initial,
                                 const std::string& help);

/// Adds an option that takes a duration and has no default.
CLI::Option* add_duration_option(CLI::App& command,
                                 const std::string& name,
                                 std::optional<Seconds>& duration,
                                 const std::string& help);

/// Adds --row-timeout.
CLI::Option* add_row_timeout(CLI::App& command, Seconds& timeout);

/// Returns the cache mode that --cache names. Throws Error{kUser} if there is none of this name.
[[nodiscard]] results::CacheMode read_cache_option(const std::string& text);

/// Options of the command line for scenarios.
struct LoadOptions {
  std::vector<std::string> scenarios;
  std::string duration;
  std::string latency_limit;
  std::string batch_timeout;
  std::optional<double> target_rate;
  std::optional<std::int64_t> maximum_batch;
  std::optional<std::int64_t> lanes;
};

/// Adds the options of `run` that concern scenarios. Those of MLPerf's logs go to the run.
void add_load_options(CLI::App& run, LoadOptions& options, session::SuiteRun::Options& suite_run);

/// Applies the options to a suite. `--scenario` replaces the scenarios of every model, and the
/// others change how they are executed. Throws Error{kUser} for an option, also of the run, without
/// a scenario that it applies to.
void apply(const LoadOptions& options,
           const session::SuiteRun::Options& suite_run,
           suite::ResolvedSuite& suite);

}  // namespace plumb::cli
