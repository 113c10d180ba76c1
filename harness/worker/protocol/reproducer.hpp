// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/model/key/layer_key.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::worker {

/// Request for the source of a program that does what rows of one key did. The program uses the
/// library and nothing else.
struct ReproducerRequest {
  model::LayerKey key;
  std::vector<results::Measurement> rows;  ///< its measurements: one program executes all their
                                           ///< variants
  std::uint64_t seed = 1;                  ///< of the rows' operands
};

/// Source of a program, for a bug report to the makers of the library.
struct Reproducer {
  struct File {
    std::string name;  ///< in the program's folder: letters, digits, '_', '-' and '.'
    std::string text;
  };
  std::vector<File> files;
  std::string instructions;  ///< Markdown: its requirements, how to build and run it
  /// Variables that make the library log its calls to stdout. They must be set before it is loaded.
  /// `log_prefix` is how lines of that log begin.
  std::map<std::string, std::string> log_variables;
  std::string log_prefix;
};

/// Limits of a reproducer and of its request.
inline constexpr std::size_t kMaximumReproducerFiles = 64;
inline constexpr std::size_t kMaximumReproducerBytes = std::size_t{4} << 20;  ///< of one text
inline constexpr std::size_t kMaximumReproducerRows = 64;

/// Returns whether `name` is the name of a file, without a folder.
[[nodiscard]] bool is_plain_file_name(const std::string& name);

}  // namespace plumb::worker
