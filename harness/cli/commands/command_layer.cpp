// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/shared_options.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/work/worker_requests.hpp"
#include "harness/terminal/terminal.hpp"
#include "harness/worker/protocol/requests.hpp"
#include "harness/worker/protocol/worker_service.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::cli {
namespace {

/// Returns the lines of a worker's log that the library wrote: they begin with `prefix`.
std::string find_lines(const std::string& log, const std::string& prefix) {
  std::istringstream lines(log);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(prefix)) {
      kept += line + "\n";
    }
  }
  return kept;
}

/// Repeats the calls in a worker whose library logs them, and returns that log.
std::string api_log(const worker::Reproducer::Request& request,
                    const worker::Reproducer& reproducer,
                    worker::WorkerProcess::Options options) {
  for (const auto& [name, value] : reproducer.log_variables) {
    options.stack.variables[name] = value;
  }
  worker::WorkerProcess worker(options);
  static_cast<void>(worker.reproduce(request));
  return find_lines(worker.log_tail(), reproducer.log_prefix);
}

/// Makes the folder for a reproducer. Throws Error{kUser} if it is no folder, or if it has files
/// and may not be overwritten. Throws Error{kEnvironment} if it cannot be made.
void prepare_reproducer_folder(const std::filesystem::path& folder, bool overwrite) {
  std::error_code error;
  if (std::filesystem::exists(folder, error) && !std::filesystem::is_directory(folder, error)) {
    throw Error(Error::Kind::kUser, fmt::format("'{}' is not a folder", folder.string()));
  }
  make_folder(folder);
  const bool empty = std::filesystem::is_empty(folder, error);
  if (!empty && !overwrite) {
    throw Error(Error::Kind::kUser,
                fmt::format("the folder '{}' is not empty: name another, or write over its files "
                            "with --force",
                            folder.string()));
  }
}

/// Picks the rows to reproduce: the library's choice and, if that is another, the library's fastest
/// variant. Built-in kernels are taken only where the library has no variant. Of a variant that was
/// asked for there is only one row. Throws Error{kUser} if no row has a time.
std::vector<results::Measurement> rows_to_reproduce(const std::vector<results::Measurement>& rows) {
  const auto is_ours = [](const results::Measurement& row) {
    return results::VariantId(row.variant).is_own();
  };
  const results::Measurement* choice = nullptr;
  const results::Measurement* fastest = nullptr;
  for (const results::Measurement& row : rows) {
    if (row.purpose == results::Purpose::kRace || !row.outcome.timed()) {
      continue;
    }
    if (row.library_choice) {
      choice = &row;
    }
    if (fastest == nullptr || is_ours(*fastest) ||
        (!is_ours(row) && row.corrected().median < fastest->corrected().median)) {
      fastest = &row;
    }
  }
  if (fastest == nullptr) {
    throw Error(Error::Kind::kUser,
                fmt::format("there is no time to reproduce: {}",
                            rows.empty() ? "nothing was measured" : rows.front().outcome.reason));
  }
  std::vector<results::Measurement> chosen;
  if (choice != nullptr) {
    chosen.push_back(*choice);
  }
  if (fastest != choice && (chosen.empty() || !is_ours(*fastest))) {
    chosen.push_back(*fastest);
  }
  return chosen;
}

/// Asks `worker` for the program of the rows, and writes it into the folder with README.md and
/// row.json. For api.log another worker of the same stack repeats the calls with the library's
/// logging on.
void write_reproducer(const std::filesystem::path& folder,
                      const worker::Reproducer::Request& request,
                      const results::Environment& environment,
                      worker::WorkerProcess& worker,
                      const worker::WorkerProcess::Options& options) {
  const worker::Reproducer reproducer = worker.reproduce(request);
  for (const worker::Reproducer::File& file : reproducer.files) {
    write_whole_file(folder / file.name, [&](std::ostream& out) { out << file.text; });
  }
  write_whole_file(folder / "README.md", [&](std::ostream& out) {
    reporting::write_reproducer_readme(
        request.key, request.rows, environment, options.stack.name, reproducer.instructions, out);
  });
  write_whole_file(folder / "row.json", [&](std::ostream& out) {
    reporting::write_layer(
        request.key, request.rows, environment, reporting::OutputMode::kJson, true, out);
  });
  // If no variable makes the library log, the instructions say how the program makes a log.
  if (!reproducer.log_variables.empty()) {
    const std::string log = api_log(request, reproducer, options);
    write_whole_file(folder / "api.log", [&](std::ostream& out) { out << log; });
  }
  terminal::say(fmt::format("reproducer: {}", std::filesystem::absolute(folder).string()));
}

struct LayerOptions {
  std::string key;
  session::WorkerChoice worker;
  std::string cache = "none";
  Seconds timeout{};
  std::string variant;
  std::string emit;
  std::string metrics;  ///< "true": the backend's own choice
  bool force = false;
  bool all = false;
};

/// Returns the metrics that the worker is asked for; an empty list: the backend's own choice.
std::optional<std::vector<std::string>> metrics_of(const LayerOptions& options) {
  if (options.metrics.empty()) {
    return std::nullopt;
  }
  return options.metrics == "true" ? std::vector<std::string>{}
                                   : worker::parse_metric_names(options.metrics);
}

/// Throws Error{kUser} if a variant is asked for that a key does not have.
void check_variant(const LayerOptions& options, const std::vector<worker::Variant>& known) {
  std::vector<std::string> names;
  for (const worker::Variant& variant : known) {
    names.push_back(variant.text);
  }
  const bool there = std::find(names.begin(), names.end(), options.variant) != names.end();
  if (!names.empty() && !there) {
    throw Error(
        Error::Kind::kUser,
        fmt::format(
            "'--variant {}': the stack '{}' has no such variant of this key; its variants are: {}",
            options.variant,
            options.worker.stack,
            fmt::join(names, ", ")));
  }
}

void measure_layer(CommandContext& context, const LayerOptions& options) {
  const results::CacheMode cache = read_cache_option(options.cache);
  if (!options.emit.empty()) {
    if (cache != results::CacheMode::kNone) {
      throw Error(Error::Kind::kUser,
                  "a reproducer times warm buffers only: --emit goes with '--cache none'");
    }
    prepare_reproducer_folder(options.emit, options.force);
  }
  const std::optional<std::vector<std::string>> metrics = metrics_of(options);
  worker::WorkerService::MeasureRequest request;
  request.key = model::to_key(model::parse_key(model::LayerKey{options.key}));
  request.caches = {cache};
  request.race_margin = 1.0;  // all variants by the full method: one key is asked for, show all
  if (!options.variant.empty()) {
    request.variants = {options.variant};
  }

  const worker::WorkerProcess::Options worker_settings = session::worker_options(options.worker);
  std::optional<worker::WorkerProcess> worker(std::in_place, worker_settings);
  const results::Environment environment = session::join_environment(
      session::read_system(), worker->describe(), options.worker.threads, options.worker.stack);
  if (!options.variant.empty()) {
    check_variant(options, worker->variants(request.key));
  }
  std::vector<results::Measurement> rows;
  try {
    worker->measure(request, options.timeout, [&](results::Measurement row) {
      rows.push_back(std::move(row));
    });
  } catch (const worker::WorkerDied& death) {
    results::Measurement row;
    row.key = request.key;
    row.cache = cache;
    row.outcome = death.outcome();
    rows.push_back(std::move(row));
    context.exit_status = static_cast<int>(Error::Kind::kEnvironment);
  }
  if (environment.facts.contains(worker::kProfilerFact)) {
    worker.reset();  // a device has one worker at a time
    session::look_at_kernels(worker_settings, options.timeout, rows);
    if (metrics) {
      session::look_at_counters(worker_settings, options.timeout, *metrics, rows);
    }
  } else if (metrics) {
    session::miss_counters("the backend of this stack has no counters to read, or no device", rows);
  }
  reporting::write_layer(
      request.key, rows, environment, context.output_mode(), options.all, std::cout);
  if (!options.emit.empty()) {
    if (!worker) {
      worker.emplace(worker_settings);
    }
    write_reproducer(options.emit,
                     {request.key, rows_to_reproduce(rows), request.seed},
                     environment,
                     *worker,
                     worker_settings);
  }
}

}  // namespace

void add_layer(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<LayerOptions>();
  CLI::App* const layer = app.add_subcommand(
      "layer", "measure one layer now, all variants: reproduces any row of a report");
  layer->add_option("KEY", options->key, "a layer key, quoted: 'v1:conv;in=…'")->required();
  add_stack_option(*layer, options->worker.stack);
  layer->add_option("--cache", options->cache, "none, weights or all")->capture_default_str();
  add_worker_options(*layer, options->worker);
  add_duration_option(
      *layer, "--timeout", options->timeout, "60s", "how long the worker may be silent");
  layer->add_option(
      "--variant", options->variant, "measure only this variant, named as in a table");
  layer->add_option("--emit",
                    options->emit,
                    "write a standalone program that does the same with the library alone (the "
                    "library's choice and the fastest, or --variant) into this folder");
  layer->add_flag("--metrics",
                  options->metrics,
                  "execute the variants once more and read the GPU's counters: a default set that "
                  "shows how busy the GPU is, or --metrics=NAME,… with CUPTI's names");
  layer->add_flag("--all", options->all, "every variant, and what is known of each");
  layer->add_flag(
      "--force", options->force, "with --emit: also write into a folder that is not empty");
  layer->callback([&context, options] { measure_layer(context, *options); });
}

}  // namespace plumb::cli
