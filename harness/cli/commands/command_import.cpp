// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "harness/base/digest.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/base/ulid.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/importers/imported_run.hpp"
#include "harness/importers/result_files.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/store/store.hpp"
#include "harness/terminal/messages.hpp"

namespace plumb::cli {
namespace {

struct ImportOptions {
  importers::ResultFiles results;
  std::string at;
  std::string keys;                 ///< file
  std::string suite;                ///< whose models the rows are layers of
  std::vector<std::string> models;  ///< likewise
  importers::ImportedName name;
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
void report_unused(const ImportOptions& options, std::span<const importers::RunSource> sources) {
  std::size_t left_out = 0;
  for (const importers::RunSource& source : sources) {
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
                                           std::span<const importers::RunSource> sources) {
  const bool has_models = !options.suite.empty() || !options.models.empty();
  const std::string models = has_models ? resolved_models(context.models, options) : std::string();
  std::vector<importers::ImportedRun> runs;
  for (const importers::RunSource& source : sources) {
    importers::ImportedRun& run = runs.emplace_back(
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
  for (importers::ImportedRun& run : runs) {
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
  const std::vector<importers::RunSource> sources =
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
