// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/result_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"

namespace plumb::importers {
namespace {

constexpr std::size_t kMaxFiles = 1000;

/// Reads a sample file of NVBench. It is looked for beside the results, by the last two parts of
/// its path.
std::string sample_bytes(const ReadResultFile& read_file,
                         const std::string& file,
                         const std::string& name,
                         std::size_t bytes) {
  const std::filesystem::path path(name);
  const std::filesystem::path folder = path.parent_path().filename();
  if (!path.has_filename() || path.filename() == ".." || folder == "..") {
    throw Error(Error::Kind::kUser, fmt::format("'{}' does not name a sample file", name));
  }
  return read_file(std::filesystem::path(file).parent_path() / folder / path.filename(), bytes);
}

ImportedHistory read_otava_file(const ResultFiles& options, const std::string& text) {
  const auto unit = unit_seconds(options.unit);
  if (!unit) {
    throw Error(
        Error::Kind::kUser,
        "the file does not say the unit of its values: give it with --unit ns, us, ms or s");
  }
  return read_otava(text, *unit, options.metrics);
}

/// Format of results. A file of some is one process of one run, a file of others has runs.
struct ImportFormat {
  const char* name;
  bool has_runs;
  ImportedHistory (*read)(const ResultFiles&,
                          const ReadResultFile&,
                          const std::string& file,
                          const std::string& text);
};

constexpr std::array<ImportFormat, 5> kFormats{{
    {"google-benchmark",
     false,
     [](const ResultFiles&, const ReadResultFile&, const std::string&, const std::string& text) {
       return ImportedHistory{read_google_benchmark(text)};
     }},
    {"nvbench",
     false,
     [](const ResultFiles&,
        const ReadResultFile& read_file,
        const std::string& file,
        const std::string& text) {
       return ImportedHistory{read_nvbench(text, [&](const std::string& name, std::size_t bytes) {
         return sample_bytes(read_file, file, name, bytes);
       })};
     }},
    {"otava",
     true,
     [](const ResultFiles& options,
        const ReadResultFile&,
        const std::string&,
        const std::string& text) { return read_otava_file(options, text); }},
    {"asv",
     true,
     [](const ResultFiles&, const ReadResultFile&, const std::string&, const std::string& text) {
       return ImportedHistory{read_asv(text)};
     }},
    {"benchmark-action",
     true,
     [](const ResultFiles&, const ReadResultFile&, const std::string&, const std::string& text) {
       return read_benchmark_action(text);
     }},
}};

const ImportFormat& find_format(const ResultFiles& options) {
  return *std::find_if(kFormats.begin(), kFormats.end(), [&](const ImportFormat& format) {
    return options.format == format.name;
  });
}

/// Returns a text that is the same for the same results, wherever in a growing file they stand.
std::string content_of(const ImportedResults& results) {
  std::string text = fmt::format(
      "{} {}\n", results.version, results.started ? to_text(*results.started) : std::string());
  for (const ImportedResults::Benchmark& benchmark : results.benchmarks) {
    text += fmt::format("{}\n{} {}\n",
                        benchmark.name,
                        to_text(benchmark.outcome.kind),
                        benchmark.statistics ? benchmark.statistics->mean.count() : 0.0);
    for (const Seconds sample : benchmark.samples) {
      text += fmt::format("{} ", sample.count());
    }
  }
  return text;
}

}  // namespace

std::vector<std::string> result_formats() {
  std::vector<std::string> names;
  names.reserve(kFormats.size());
  for (const ImportFormat& format : kFormats) {
    names.emplace_back(format.name);
  }
  return names;
}

std::vector<ResultFiles::Run> read_result_files(const ResultFiles& options,
                                                const ReadResultFile& read_file) {
  if (options.files.size() > kMaxFiles) {
    throw Error(Error::Kind::kUser,
                fmt::format("{} files: at most {} are read", options.files.size(), kMaxFiles));
  }
  const ImportFormat& format = find_format(options);
  std::vector<ResultFiles::Run> runs;
  ResultFiles::Run joined;
  std::string digests;
  std::size_t rows = 0;
  for (const std::string& file : options.files) {
    try {
      const std::string text = read_file(file, kMaxResultFile);
      for (ImportedResults& results : format.read(options, read_file, file, text)) {
        rows += results.benchmarks.size();
        if (rows > kMaxImportedRows || runs.size() >= kMaxImportedRuns) {
          throw Error(Error::Kind::kUser,
                      fmt::format("with it there are more than {} benchmarks or {} runs: import "
                                  "fewer files at a time",
                                  kMaxImportedRows,
                                  kMaxImportedRuns));
        }
        if (format.has_runs) {
          std::string digest = sha256(content_of(results));
          runs.push_back({{std::move(results)}, {file}, std::move(digest)});
        } else {
          joined.processes.push_back(std::move(results));
          joined.files.push_back(file);
        }
      }
      digests += sha256(text) + "\n";
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("'{}': {}; nothing was imported", file, error.what()));
    }
  }
  if (!format.has_runs) {
    joined.digest = sha256(digests);
    runs.push_back(std::move(joined));
  }
  return runs;
}

std::vector<std::string> unused_names(const KeyMapping& keys,
                                      std::span<const ResultFiles::Run> runs) {
  std::set<std::string> unused;
  for (const auto& [name, layer] : keys) {
    unused.insert(name);
  }
  for (const ResultFiles::Run& run : runs) {
    for (const ImportedResults& process : run.processes) {
      for (const ImportedResults::Benchmark& benchmark : process.benchmarks) {
        unused.erase(benchmark.name);
      }
    }
  }
  return {unused.begin(), unused.end()};
}

}  // namespace plumb::importers
