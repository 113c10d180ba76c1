// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/loadgen/system_under_test.hpp"
#include "harness/results/scenario_result.hpp"
#include "runners/engine/bench/batch_runner.hpp"

namespace plumb::engine {

/// Check of a system's answers under load against the model's answer to each sample alone.
///
/// Only the first output is compared. Batches, lanes and time-outs may change nothing but rounding.
class AnswerCheck final : public loadgen::ResponseLog {
 public:
  /// Executes the first `samples` samples of the data set, one at a time. A sample that cannot be
  /// answered alone is not compared. `type` is what the model is executed in. `next` also takes
  /// each response and may be null; its pointer is kept.
  AnswerCheck(BatchRunner& executor,
              std::size_t samples,
              std::string_view type,
              loadgen::ResponseLog* next);

  void record(std::uint64_t sequence,
              std::uint64_t index,
              std::span<const std::byte> data) override;

  [[nodiscard]] const results::LoadAgreement& agreement() const { return agreement_; }
  /// Returns kWrongResult with the first sample whose answer differs by more than rounding;
  /// otherwise kOk.
  [[nodiscard]] const results::Outcome& outcome() const { return outcome_; }

 private:
  std::string type_;
  std::vector<std::optional<model::Tensor>> expected_;
  loadgen::ResponseLog* next_;
  results::LoadAgreement agreement_;
  results::Outcome outcome_;
};

/// Makes the load that checks answers before the load. It is the accuracy run of the first
/// `samples` samples, but server's come in one query, so that batches of every size are made.
[[nodiscard]] loadgen::RequestedLoad answer_check_load(const loadgen::RequestedLoad& load,
                                                       std::uint64_t samples);

}  // namespace plumb::engine
