// SPDX-License-Identifier: Apache-2.0
#include "harness/base/ulid.hpp"

#include <algorithm>
#include <random>

namespace plumb {
namespace {
constexpr std::string_view kCrockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
}

std::string make_ulid(std::chrono::system_clock::time_point time,
                      const std::array<std::uint8_t, 10>& random) {
  const auto since_epoch =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch());
  const auto milliseconds = static_cast<std::uint64_t>(since_epoch.count());
  std::string text;
  text.reserve(26);
  for (int shift = 45; shift >= 0; shift -= 5) {
    text += kCrockford[(milliseconds >> shift) & 31U];
  }
  std::uint32_t bits = 0;
  int held = 0;
  for (const std::uint8_t byte : random) {
    bits = (bits << 8U) | byte;
    held += 8;
    while (held >= 5) {
      held -= 5;
      text += kCrockford[(bits >> static_cast<unsigned>(held)) & 31U];
    }
  }
  return text;
}

std::string new_ulid() {
  std::random_device source;
  std::array<std::uint8_t, 10> random{};
  for (std::uint8_t& byte : random) {
    byte = static_cast<std::uint8_t>(source() & 0xFFU);
  }
  return make_ulid(std::chrono::system_clock::now(), random);
}

bool is_ulid_prefix(std::string_view text) {
  return !text.empty() && text.size() <= 26 && std::all_of(text.begin(), text.end(), [](char c) {
    return kCrockford.find(c) != std::string_view::npos;
  });
}

}  // namespace plumb
