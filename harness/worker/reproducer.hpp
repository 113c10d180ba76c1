// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/model/layer_key.hpp"
#include "harness/results/measurement.hpp"

namespace plumb {

/// Asks a backend for the source of a program that does what rows of one key did, with the library
/// and nothing else.
struct ReproducerRequest {
  LayerKey key;
  std::vector<Measurement> rows;  ///< what was measured of it: one program does all their variants
  std::uint64_t seed = 1;         ///< that the rows' operands were made from
};

/// Source of a program, for a bug report to whoever makes the library.
struct Reproducer {
  struct File {
    std::string name;  ///< in the program's folder: letters, digits, '_', '-' and '.'
    std::string text;
  };
  std::vector<File> files;
  std::string instructions;  ///< Markdown: what it needs, how to build and to run it
  /// What makes the library log its calls to stdout, if set before it is loaded; and how lines of
  /// that log begin.
  std::map<std::string, std::string> log_variables;
  std::string log_prefix;
};

/// Bounds what a worker may hand over.
inline constexpr std::size_t kMaximumReproducerFiles = 64;
inline constexpr std::size_t kMaximumReproducerBytes = std::size_t{4} << 20;  ///< of one text
inline constexpr std::size_t kMaximumReproducerRows = 64;

/// Returns whether `name` is a file's name in one folder and nothing else.
[[nodiscard]] bool is_plain_file_name(const std::string& name);

}  // namespace plumb
