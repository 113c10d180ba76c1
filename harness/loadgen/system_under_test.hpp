// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace plumb::loadgen {

/// One sample of a query: its index, and the id to answer with.
struct QuerySample {
  std::uint64_t id = 0;     ///< opaque, never 0, valid until answered
  std::uint64_t index = 0;  ///< which sample of the data set
};

/// Answer to one sample. The data are read in accuracy mode only, and only during the call.
struct SampleResponse {
  std::uint64_t id = 0;
  std::span<const std::byte> data;
};

/// Receiver of answers. Any thread may call it, in any order, also from inside issue(). An unknown
/// or repeated answer is counted and makes the result invalid. An answer after the run's end is
/// ignored.
class Completions {
 public:
  virtual ~Completions() = default;
  /// Takes the answers of samples that are done.
  virtual void complete(std::span<const SampleResponse> responses) = 0;
  /// Reports samples that cannot be answered. The first reason is kept, and the result is invalid.
  virtual void fail(std::span<const std::uint64_t> ids, std::string_view reason) = 0;
};

/// System that a load generator loads. It is all that the generator knows of models, batches and
/// devices.
class SystemUnderTest {
 public:
  virtual ~SystemUnderTest() = default;
  /// Names the system in results and logs.
  [[nodiscard]] virtual std::string describe() const = 0;
  /// Begins a run or its warm-up. Answers go to `completions` until the next start(). The system
  /// keeps the pointer as long as it may answer, so that late answers have a valid receiver.
  virtual void start(std::shared_ptr<Completions> completions) = 0;
  /// Takes one query, always from the same thread. Time spent here delays the next query, so a
  /// system that works on several queries at a time returns at once. `samples` is valid only during
  /// the call. Any number of queries may be outstanding.
  virtual void issue(std::span<const QuerySample> samples) = 0;
  /// Announces that no query follows before the outstanding ones are answered. Batches need not
  /// fill up.
  virtual void flush() = 0;
};

/// Receiver of the responses of accuracy mode, in order of completion. It is never called from two
/// threads at a time.
class ResponseLog {
 public:
  virtual ~ResponseLog() = default;
  virtual void record(std::uint64_t sequence,
                      std::uint64_t index,
                      std::span<const std::byte> data) = 0;
};

}  // namespace plumb::loadgen
