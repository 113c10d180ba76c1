// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/finite_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "runners/engine/number_formats.hpp"

namespace plumb::engine {
namespace {

/// Returns whether no element's exponent bits are all ones. The loop has no branch for single
/// elements, so that the compiler vectorizes it.
bool all_finite_f32(std::span<const std::byte> elements) {
  constexpr std::uint32_t kExponent = 0x7F800000U;
  std::uint32_t bad = 0;
  for (std::size_t at = 0; at + sizeof(std::uint32_t) <= elements.size();
       at += sizeof(std::uint32_t)) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, elements.data() + at, sizeof bits);
    bad |= static_cast<std::uint32_t>((bits & kExponent) == kExponent);
  }
  return bad == 0;
}

}  // namespace

std::optional<std::size_t> first_not_finite(model::DataType type,
                                            std::span<const std::byte> elements) {
  if (!model::is_floating(type) || (type == model::DataType::kF32 && all_finite_f32(elements))) {
    return std::nullopt;
  }
  const ElementReader at = reader_of(type);
  const std::size_t count = elements.size() / static_cast<std::size_t>(model::element_bytes(type));
  for (std::size_t element = 0; element < count; ++element) {
    if (!std::isfinite(at(elements.data(), element))) {
      return element;
    }
  }
  return std::nullopt;
}

}  // namespace plumb::engine
