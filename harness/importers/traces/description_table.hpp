// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

}  // namespace plumb::importers
