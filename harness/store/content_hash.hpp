// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/base/digest.hpp"
#include "harness/base/units.hpp"
#include "harness/results/profile/named_profile.hpp"

namespace plumb::store {

/// Hash of the content of a stored row: XXH64 of its fields, one after the other. Each field is
/// written so that neighbours cannot be confused (docs/reference/store.md). It guards against
/// damage, not forgery.
class ContentHash {
 public:
  /// Adds bytes as they are.
  ContentHash& bytes(std::string_view content) {
    content.copy(room(content.size()), content.size());
    return *this;
  }
  ContentHash& add(std::int64_t value) { return word(std::bit_cast<std::uint64_t>(value)); }
  ContentHash& add(double value) { return word(std::bit_cast<std::uint64_t>(value)); }
  ContentHash& add(Seconds value) { return add(value.count()); }
  ContentHash& add_flag(bool value) {
    *room(1) = value ? '\1' : '\0';
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

  /// Returns the hash of bytes alone, with a sign.
  [[nodiscard]] static std::int64_t of(std::string_view content) {
    return std::bit_cast<std::int64_t>(hash64(std::as_bytes(std::span(content))));
  }
  [[nodiscard]] std::uint64_t value() const {
    return hash64(std::as_bytes(std::span(content_).first(used_)));
  }
  /// Returns the same bits with a sign, as databases keep them.
  [[nodiscard]] std::int64_t stored() const { return std::bit_cast<std::int64_t>(value()); }

 private:
  ContentHash& word(std::uint64_t value) {
    static_assert(std::endian::native == std::endian::little, "stores move between machines");
    std::memcpy(room(sizeof value), &value, sizeof value);
    return *this;
  }
  // Grows in large steps, since every stored row takes this path.
  char* room(std::size_t size) {
    if (content_.size() - used_ < size) {
      content_.resize(2 * content_.size() + size);
    }
    used_ += size;
    return content_.data() + used_ - size;
  }
  std::string content_ = std::string(512, '\0');
  std::size_t used_ = 0;
};

/// Returns a storable copy of a profile. Its texts are in UTF-8. It has one cell for each step and
/// function, in this order, and no function without samples. Throws Error{kInternal} for a number
/// that is not finite, and for a cell of a step, function or block that the profile does not hold.
[[nodiscard]] results::StoredProfile storable(results::StoredProfile given);

/// Returns the checksum of a storable profile.
[[nodiscard]] std::int64_t profile_checksum(const results::StoredProfile& stored);

}  // namespace plumb::store
