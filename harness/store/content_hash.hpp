// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "harness/base/units.hpp"

namespace plumb {

/// Hashes the content of a stored row with FNV-1a, 64 bits (Fowler, Noll, Vo; IETF draft
/// draft-eastlake-fnv): cheap enough for every row, and notices any change of one byte. It guards
/// against damage, not against forgery.
class ContentHash {
 public:
  /// Adds bytes as they are.
  ContentHash& bytes(std::string_view content) {
    for (const char byte : content) {
      mix(static_cast<unsigned char>(byte));
    }
    return *this;
  }
  /// Adds a value so that neighbouring values cannot run into each other.
  ContentHash& add(std::int64_t value) { return word(static_cast<std::uint64_t>(value)); }
  ContentHash& add(double value) { return word(std::bit_cast<std::uint64_t>(value)); }
  ContentHash& add(Seconds value) { return add(value.count()); }
  ContentHash& add_flag(bool value) {
    mix(value ? 1 : 0);
    return *this;
  }
  ContentHash& add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    return bytes(text);
  }
  ContentHash& add(const char*) = delete;
  template <typename Value>
  ContentHash& add(const std::optional<Value>& value) {
    add_flag(value.has_value());
    return value ? add(*value) : *this;
  }

  [[nodiscard]] std::uint64_t value() const { return hash_; }
  /// Returns the same bits with a sign, as databases keep them.
  [[nodiscard]] std::int64_t stored() const { return std::bit_cast<std::int64_t>(hash_); }

 private:
  void mix(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001B3ULL; }
  ContentHash& word(std::uint64_t value) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      mix(static_cast<unsigned char>((value >> shift) & 0xFFU));
    }
    return *this;
  }
  std::uint64_t hash_ = 0xCBF29CE484222325ULL;
};

}  // namespace plumb
