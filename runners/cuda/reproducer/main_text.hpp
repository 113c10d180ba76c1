// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/results/measurement.hpp"

namespace plumb::cuda {

/// Key, library and seed that every reproducer states about itself.
struct ReproducerTitle {
  std::string key;
  std::string library;  ///< name and version, for people
  std::uint64_t seed = 1;
};

/// Returns a title as constants of main.cpp.
[[nodiscard]] std::string title_text(const ReproducerTitle& title);

/// Returns a row's time as an initialiser of replay.hpp's Row.
[[nodiscard]] std::string row_text(const results::Measurement& row);

/// Returns a frame with the variants at its mark for them.
[[nodiscard]] std::string with_variants(std::string_view frame, const std::string& variants);

}  // namespace plumb::cuda
