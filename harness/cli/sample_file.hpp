// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/analyze/paired_comparison.hpp"

namespace plumb {

/// Is a history from elsewhere: one value a run, oldest first.
struct NamedSeries {
  std::string id;
  std::vector<double> values;
};

/// Reads
/// `{"comparisons":[{"id","end_to_end":{"baseline":[…],"candidate":[…]},"layers":{"NAME":{…}}}]}`:
/// paired rounds in seconds. A null stands for a round that failed. At most 256 MiB, 100,000
/// comparisons or layers. Throws Error{kUser} naming the file and the place.
[[nodiscard]] std::vector<PairedQuestion> read_paired_samples(const std::filesystem::path& file);

/// Reads `{"series":[{"id","values":[…]}]}`. At most 256 MiB, 20,000 values a series. Throws
/// Error{kUser}.
[[nodiscard]] std::vector<NamedSeries> read_series(const std::filesystem::path& file);

}  // namespace plumb
