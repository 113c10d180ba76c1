// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "harness/base/units.hpp"

namespace plumb {

/// Costs of making buffers cold, for one program on this machine.
struct RotationCosts {
  Bytes slot;           ///< what rotates: a slot's weights, or all its operands
  Bytes cache;          ///< the last level: what is to be left behind
  Bytes memory;         ///< that slots may take
  Seconds bind{};       ///< of one more slot
  Seconds flush{};      ///< of the whole cache
  Seconds execution{};  ///< of the program
  Seconds wall{};       ///< that all of it should take
};

/// Plan for running a program with cold buffers.
///
/// With `flush`, so many `slots` are bound beside slot 0, each used once after a flush. Without,
/// `slots` (slot 0 among them) are a ring of at least twice the cache, so that a slot is cold again
/// when its turn comes.
struct Rotation {
  std::size_t slots = 1;
  bool flush = true;
  std::size_t samples = 7;
  auto operator<=>(const Rotation&) const = default;
};

/// Chooses the most samples (31, 15, 11 or 7) that fit into `wall`, with the cheaper of ring and
/// flushes; if nothing fits, the cheapest with 7. Never more than 1,024 slots or `memory` (but for
/// one slot). Pure.
[[nodiscard]] Rotation plan_rotation(const RotationCosts& costs);

/// Streams over memory of twice the last-level cache, so that what was there is gone.
class CacheFlush {
 public:
  /// `sweep` writes over so many bytes of a device's memory; empty: the host's is read.
  explicit CacheFlush(Bytes cache, std::function<void(Bytes)> sweep = {})
      : cache_(cache), sweep_(std::move(sweep)) {}
  /// Allocates and touches the memory at the first call. Throws std::bad_alloc.
  void run();
  /// Returns how long one run takes. Throws std::bad_alloc.
  [[nodiscard]] Seconds cost();
  [[nodiscard]] Bytes cache() const { return cache_; }
  [[nodiscard]] bool on_device() const { return static_cast<bool>(sweep_); }

 private:
  Bytes cache_;
  std::function<void(Bytes)> sweep_;
  std::vector<std::uint64_t> memory_;
  std::uint64_t sum_ = 0;
  Seconds cost_{};
};

}  // namespace plumb
