// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace plumb::engine {

/// Random sequence addressed by position, with the same numbers on every machine in any order.
/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014, Fig.
/// 17).
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed) : seed_(seed) {}
  /// Makes an independent stream for the `index`-th of several uses of a seed.
  RandomStream(std::uint64_t seed, std::uint64_t index) : seed_(mixed(mixed(seed) + index)) {}

  /// Returns SplitMix64's output number `position`, counted from 0.
  [[nodiscard]] std::uint64_t bits(std::uint64_t position) const {
    return mixed(seed_ + position * 0x9E3779B97F4A7C15U);
  }
  /// Returns a number in [0, bound), or 0 if bound is 0. Below 2^32 the bias is not noticeable.
  [[nodiscard]] std::uint64_t below(std::uint64_t position, std::uint64_t bound) const {
    return bound == 0 ? 0 : bits(position) % bound;
  }

 private:
  [[nodiscard]] static std::uint64_t mixed(std::uint64_t z) {
    z += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }

  std::uint64_t seed_;
};

}  // namespace plumb::engine
