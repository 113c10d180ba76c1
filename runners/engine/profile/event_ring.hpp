// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace plumb::engine {

/// Ring of memory into which the kernel writes the samples of an event.
class EventRing {
 public:
  /// Place of a thread at a time.
  struct Sample {
    std::uint64_t address = 0;
    std::uint64_t nanoseconds = 0;  ///< of the event's clock
    bool exact = false;             ///< the address is that of the instruction
    /// Addresses to which the calls return, innermost first. Valid until the next sample.
    std::span<const std::uint64_t> calls;
  };

  /// Maps a ring of at most `most` bytes, and of less where a limit on locked memory asks for it.
  /// The event samples an address and a time, and if `depth` isn't zero, a chain of at most as many
  /// calls. Throws Error{kEnvironment} with the system's reason.
  EventRing(int event, std::size_t most, std::size_t depth);
  ~EventRing();
  EventRing(const EventRing&) = delete;
  EventRing& operator=(const EventRing&) = delete;
  EventRing(EventRing&&) = delete;
  EventRing& operator=(EventRing&&) = delete;

  /// Returns how many samples have room.
  [[nodiscard]] std::size_t capacity() const;
  /// Removes the samples that there are now, oldest first, and calls `take` with each.
  void drain(const std::function<void(const Sample&)>& take);
  /// Returns the number of samples for which the kernel found no room.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  /// Copies the record at a place of the ring into `record_`, and returns its bytes. Zero: the ring
  /// is damaged.
  std::size_t copy_record(std::uint64_t place, std::uint64_t end);
  /// Returns the sample that `record_` is. Absent: it is none.
  [[nodiscard]] std::optional<Sample> read_sample() const;

  perf_event_mmap_page* page_ = nullptr;
  std::size_t bytes_ = 0;  ///< of the mapping
  std::size_t depth_;
  std::vector<std::uint64_t> record_;
  std::uint64_t lost_ = 0;
};

}  // namespace plumb::engine
