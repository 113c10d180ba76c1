// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace plumb::importers {

/// Part of memory that holds one function.
struct NamedCode {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< after the last byte
  std::string name;
};

inline constexpr std::size_t kMaxCodeName = 4096;  ///< longer names are cut

/// Code in memory, where later code takes the place of earlier. `Code` is a NamedCode, or has one
/// as its base.
template <typename Code>
class CodeMap {
 public:
  void add(Code code) {
    remove(code.begin, code.end);
    const std::uint64_t begin = code.begin;
    by_begin_.emplace(begin, std::move(code));
  }

  /// Moves the function that begins at an address.
  void move(std::uint64_t from, std::uint64_t to, std::uint64_t size) {
    const auto found = by_begin_.find(from);
    if (found == by_begin_.end()) {
      return;
    }
    Code code = std::move(found->second);
    code.begin = to;
    code.end = to + size;
    by_begin_.erase(found);
    add(std::move(code));
  }

  /// Returns all functions, by address. None overlaps another.
  [[nodiscard]] std::vector<Code> take() && {
    std::vector<Code> functions;
    for (auto& [begin, code] : by_begin_) {
      functions.push_back(std::move(code));
    }
    return functions;
  }

 private:
  void remove(std::uint64_t begin, std::uint64_t end) {
    auto first = by_begin_.upper_bound(begin);
    if (first != by_begin_.begin() && std::prev(first)->second.end > begin) {
      --first;
    }
    auto last = first;
    while (last != by_begin_.end() && last->first < end) {
      ++last;
    }
    by_begin_.erase(first, last);
  }

  std::map<std::uint64_t, Code> by_begin_;
};

}  // namespace plumb::importers
