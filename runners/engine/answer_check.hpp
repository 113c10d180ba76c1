// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/results/execution_mode.hpp"
#include "harness/results/load_execution.hpp"
#include "harness/scenario/system_under_test.hpp"
#include "runners/engine/model_executor.hpp"

namespace plumb {

/// Compares the answers of a system under load (its first output) with the answer that the model
/// gives to each sample alone: batches, lanes and time-outs must change nothing but rounding.
class AnswerCheck final : public ResponseLog {
 public:
  /// Executes the first `samples` samples of the data set, one by one; one that has no answer alone
  /// is not compared. `mode` is that of the load. `next` takes each response too; may be nullptr.
  /// Keeps the pointer.
  AnswerCheck(ModelExecutor& executor,
              std::size_t samples,
              const ExecutionMode& mode,
              ResponseLog* next);

  void record(std::uint64_t sequence,
              std::uint64_t index,
              std::span<const std::byte> data) override;

  [[nodiscard]] const LoadAgreement& agreement() const { return agreement_; }
  /// Not ok where an answer differs by more than rounding, naming the first such sample.
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }

 private:
  ExecutionMode mode_;
  std::vector<std::optional<Tensor>> expected_;
  ResponseLog* next_;
  LoadAgreement agreement_;
  Outcome outcome_;
};

/// Asks each of the first `samples` samples once, in the way of a load's scenario: the streams as
/// they are, all else at once.
[[nodiscard]] RequestedLoad accuracy_load(const RequestedLoad& load, std::uint64_t samples);

}  // namespace plumb
