// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/reproducer_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <sstream>
#include <system_error>

#include "harness/base/error.hpp"
#include "harness/base/whole_file.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "harness/terminal/messages.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/content/run/reproducer_documents.hpp"

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
std::string api_log(const worker::ReproducerRequest& request,
                    const worker::Reproducer& reproducer,
                    worker::WorkerOptions options) {
  for (const auto& [name, value] : reproducer.log_variables) {
    options.stack.variables[name] = value;
  }
  worker::WorkerProcess worker(options);
  static_cast<void>(worker.reproduce(request));
  return find_lines(worker.log_tail(), reproducer.log_prefix);
}

}  // namespace

void prepare_reproducer_folder(const std::filesystem::path& folder, bool overwrite) {
  std::error_code error;
  if (std::filesystem::exists(folder, error) && !std::filesystem::is_directory(folder, error)) {
    throw Error(Error::Kind::kUser, fmt::format("'{}' is not a folder", folder.string()));
  }
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot make the folder '{}': {}", folder.string(), error.message()));
  }
  const bool empty = std::filesystem::is_empty(folder, error);
  if (!empty && !overwrite) {
    throw Error(Error::Kind::kUser,
                fmt::format("the folder '{}' is not empty: name another, or write over its files "
                            "with --force",
                            folder.string()));
  }
}

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

void write_reproducer(const std::filesystem::path& folder,
                      const worker::ReproducerRequest& request,
                      const results::Environment& environment,
                      worker::WorkerProcess& worker,
                      const worker::WorkerOptions& options) {
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

}  // namespace plumb::cli
