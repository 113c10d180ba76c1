// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/ulid.hpp"
#include "harness/cli/command.hpp"
#include "harness/importers/google_benchmark_file.hpp"
#include "harness/importers/imported_run.hpp"
#include "harness/importers/nvbench_file.hpp"
#include "harness/store/store.hpp"

namespace plumb {
namespace {

constexpr std::uintmax_t kMaxFile = std::uintmax_t{64} << 20U;
constexpr std::size_t kMaxFiles = 1000;

struct ImportOptions {
  std::vector<std::string> files;
  std::string at;
  ImportedName name;
};

std::string bytes_of(const std::filesystem::path& file, std::uintmax_t at_most) {
  std::error_code fault;
  const std::uintmax_t size = std::filesystem::is_regular_file(file, fault)
                                  ? std::filesystem::file_size(file, fault)
                                  : at_most;
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

/// Reads one file. Sample files are looked for beside it, by the last two parts of their path.
ImportedResults read_file(const std::string& format,
                          const std::string& file,
                          const std::string& text) {
  try {
    if (format == "google-benchmark") {
      return read_google_benchmark(text);
    }
    return read_nvbench(text, [&](const std::string& name, std::size_t bytes) {
      const std::filesystem::path path(name);
      const std::filesystem::path folder = path.parent_path().filename();
      if (!path.has_filename() || path.filename() == ".." || folder == "..") {
        throw Error(Error::Kind::kUser, fmt::format("'{}' names no sample file", name));
      }
      return bytes_of(std::filesystem::path(file).parent_path() / folder / path.filename(), bytes);
    });
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("'{}': {}; nothing was imported", file, error.what()));
  }
}

/// Throws Error{kUser} if a stored run was made of the same files: a history has each result once.
void check_new(const Store& store, const RunHeader& header) {
  for (const RunRecord& run : store.runs()) {
    const Facts& facts = run.header.environment.facts;
    const auto digest = facts.find("import.sha256");
    if (run.header.suite == header.suite && digest != facts.end() &&
        digest->second == header.environment.facts.at("import.sha256")) {
      throw Error(
          Error::Kind::kUser,
          fmt::format("these results are run {} already; nothing was imported", run.header.id));
    }
  }
}

void import_results(const CommandContext& context, const ImportOptions& options) {
  if (options.files.size() > kMaxFiles) {
    throw Error(Error::Kind::kUser,
                fmt::format("{} files; a run takes at most {}", options.files.size(), kMaxFiles));
  }
  std::vector<ImportedResults> processes;
  std::string digests;
  for (const std::string& file : options.files) {
    const std::string text = bytes_of(file, kMaxFile);
    processes.push_back(read_file(options.name.format, file, text));
    digests += sha256(text) + "\n";
  }
  ImportedName name = options.name;
  if (!options.at.empty()) {
    name.started = parse_timestamp(options.at);
  }
  ImportedRun run = make_imported_run(name, processes, options.files, current_time());
  run.header.environment.facts["import.sha256"] = sha256(digests);
  run.header.command = {"plumb", "import", name.format};
  run.header.command.insert(run.header.command.end(), options.files.begin(), options.files.end());
  const auto store = open_store(context.store_url);
  check_new(*store, run.header);
  run.header.id = new_ulid();
  store->begin_run(run.header);
  store->append(run.header.id, run.rows);
  store->finish_run(run.header.id, RunState::kFinished, run.header.started);
  const RunRecord record = store->find_run(run.header.id);
  if (context.json) {
    std::cout << nlohmann::json{{"schema_version", 1},
                                {"run", record.header.id},
                                {"suite", record.header.suite},
                                {"environment", record.header.environment.id()},
                                {"started", to_text(record.header.started)},
                                {"rows", {{"ok", record.rows_ok}, {"failed", record.rows_failed}}}}
                     .dump(2)
              << '\n';
  } else {
    fmt::print("run {} of {}: {} rows with times, {} without\n",
               record.header.id,
               record.header.suite,
               record.rows_ok,
               record.rows_failed);
  }
}

}  // namespace

void add_import(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<ImportOptions>();
  CLI::App* const command = app.add_subcommand(
      "import", "store results of Google Benchmark or NVBench as a run, to compare and watch");
  command->add_option("FORMAT", options->name.format, "google-benchmark or nvbench")
      ->required()
      ->check(CLI::IsMember({"google-benchmark", "nvbench"}));
  command
      ->add_option(
          "FILE", options->files, "JSON results; several files are several processes of one run")
      ->required();
  command
      ->add_option(
          "--name", options->name.suite, "the suite that these benchmarks are, such as mylib")
      ->required();
  command->add_option(
      "--version", options->name.version, "of what was measured, such as a commit: kept as a fact");
  command->add_option(
      "--system", options->name.system, "the machine, where host names change from run to run");
  command->add_option(
      "--at",
      options->at,
      "when it was measured (RFC 3339, UTC); default: what the file says, else now");
  command->callback([&context, options] { import_results(context, *options); });
}

}  // namespace plumb
