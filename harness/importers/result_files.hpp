// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/importers/imported_results.hpp"
#include "harness/importers/key_mapping.hpp"

namespace plumb::importers {

/// Files of results in one format.
struct ResultFiles {
  std::string format;  ///< one of result_formats()
  std::vector<std::string> files;
  std::string unit;                  ///< "ns", "us", "ms" or "s"; of formats that do not say it
  std::vector<std::string> metrics;  ///< columns to take; none: all
};

/// Reader of the bytes of a file. It refuses a file that has more than so many.
using ReadResultFile = std::function<std::string(const std::filesystem::path&, std::size_t)>;

/// Results that become one run: its processes, and the files they come from.
struct RunSource {
  std::vector<ImportedResults> processes;
  std::vector<std::string> files;
  std::string digest;  ///< of what is in them
};

inline constexpr std::size_t kMaxResultFile = std::size_t{64} << 20U;  ///< bytes

/// Lists the formats of results.
[[nodiscard]] std::vector<std::string> result_formats();

/// Reads files. All files of google-benchmark or nvbench are processes of one run. A file of
/// another format has a run for each moment. Throws Error{kUser} that names the file.
[[nodiscard]] std::vector<RunSource> read_result_files(const ResultFiles& options,
                                                       const ReadResultFile& read_file);

/// Returns the names of a mapping that are no benchmark of any run.
[[nodiscard]] std::vector<std::string> unused_names(const KeyMapping& keys,
                                                    std::span<const RunSource> runs);

}  // namespace plumb::importers
