// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/results/trace/executed_trace.hpp"

namespace plumb::importers {

/// Limit of what the descriptions of a trace may take in memory.
inline constexpr std::size_t kMaxDescriptionBytes = std::size_t{256} << 20;

/// Descriptions of a trace's calls, each kept once.
///
/// A reader finds one by a text of its own that says the same, so a call that was seen before costs
/// no parsing and no memory.
class DescriptionTable {
 public:
  /// Returns the number of the description that was added with this text.
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view text) const;
  /// Adds a description and returns its number. Throws Error{kUser} if there are too many.
  std::uint32_t add(std::string_view text, results::CallDescription description);
  [[nodiscard]] const results::CallDescription& at(std::uint32_t number) const {
    return descriptions_[number];
  }
  [[nodiscard]] std::vector<results::CallDescription> take() && { return std::move(descriptions_); }

 private:
  /// Hash of a text that need not be a std::string.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
  std::vector<results::CallDescription> descriptions_;
  std::size_t bytes_ = 0;
};

/// Reads a log line by line, of which it keeps one. What is behind 64 KiB of a line is left out.
void read_lines(std::istream& in, const std::function<void(std::string_view)>& take);

/// Divides a text at each separator, into at most 64 parts.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// Returns the kind of work that an operator of ONNX Runtime or PyTorch does.
[[nodiscard]] results::ExecutedCall::Kind kind_of_operator(std::string_view operation);

/// Returns the outermost calls of each thread. Copies and pads within them are calls of their own,
/// and their time is taken from the call around them, whose operation is their name.
[[nodiscard]] std::vector<results::TracedCall> outermost_calls(
    std::vector<results::TracedCall> calls, DescriptionTable& descriptions);

/// Gives each call the layer of the range that surrounds it in its thread.
///
/// Ranges are calls whose descriptions have an output, and do not overlap in a thread. `calls` and
/// the result are in the order of outermost_calls().
void place_in_ranges(std::vector<results::TracedCall>& calls,
                     std::vector<results::TracedCall> ranges,
                     DescriptionTable& descriptions);

}  // namespace plumb::importers
