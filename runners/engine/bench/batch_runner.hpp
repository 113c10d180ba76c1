// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/loadgen/batching.hpp"
#include "harness/loadgen/system_under_test.hpp"
#include "harness/results/scenario_result.hpp"
#include "harness/worker/protocol/requests.hpp"
#include "runners/engine/exec/ready_model.hpp"

namespace plumb::engine {

/// Executor of batches of a whole model, with one program for each bucket and lane.
///
/// Each program has buffers of its own. Each sample's input is copied from the data set into the
/// program's, and each answer is checked. Both count as execution. A batch with an answer that is
/// infinite or not a number fails. In a batch with fewer samples than its bucket, the remaining
/// places keep their old content.
class BatchRunner final : public loadgen::BatchExecutor {
 public:
  /// Check of a system's answers under load against the model's answer to each sample alone.
  ///
  /// Only the first output is compared. Batches, lanes and time-outs may change nothing but
  /// rounding.
  class Check final : public loadgen::ResponseLog {
   public:
    /// Executes the first `samples` samples of the data set, one at a time. A sample that cannot be
    /// answered alone is not compared. `type` is what the model is executed in. `next` also takes
    /// each response and may be null; its pointer is kept.
    Check(BatchRunner& executor,
          std::size_t samples,
          std::string_view type,
          loadgen::ResponseLog* next);

    void record(std::uint64_t sequence,
                std::uint64_t index,
                std::span<const std::byte> data) override;

    [[nodiscard]] const results::ScenarioResult::Agreement& agreement() const { return agreement_; }
    /// Returns kWrongResult with the first sample whose answer differs by more than rounding;
    /// otherwise kOk.
    [[nodiscard]] const results::Outcome& outcome() const { return outcome_; }

   private:
    std::string type_;
    std::vector<std::optional<model::Tensor>> expected_;
    loadgen::ResponseLog* next_;
    results::ScenarioResult::Agreement agreement_;
    results::Outcome outcome_;
  };

  /// Makes a runner without buckets, of a data set of `samples` samples. describe() returns `name`.
  BatchRunner(std::string name, std::size_t samples) : name_(std::move(name)), count_(samples) {}

  /// Prepares the programs of a bucket, one for each lane, in the request's first mode.
  ///
  /// All buckets have the same number of lanes and the same backend, whose threads the lanes share.
  /// Buckets come in ascending order from 1. The first one makes the data set. Returns why there
  /// are no programs: refused, too large, a wrong result, or inputs and outputs that cannot be
  /// split into samples along their first dimension. Throws as RequestedModel and make_ready() do.
  [[nodiscard]] results::Outcome add(worker::Backend& backend,
                                     const worker::LoadRequest::Bucket& bucket,
                                     std::size_t lanes,
                                     const measure::Clock& clock);

  [[nodiscard]] std::string describe() const override { return name_; }
  [[nodiscard]] std::vector<std::size_t> buckets() const override;
  void enter_lane(std::size_t lane) override { backend_->enter_lane(lane); }
  /// Executes a batch and returns each sample's first output in `responses`. Throws
  /// Error{kInternal} with sample and output for an answer that is not a finite number.
  void execute(const loadgen::BatchExecutor::Batch& batch,
               std::span<loadgen::Completions::Response> responses) override;
  /// Executes one sample of the data set by itself and returns the first output. Nothing else may
  /// be executed meanwhile.
  [[nodiscard]] model::Tensor answer_alone(std::size_t sample);

  /// Returns the number of batches executed so far. May be called from any thread.
  [[nodiscard]] std::uint64_t batches() const { return batches_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t samples() const { return samples_.size(); }  ///< of the data set
  [[nodiscard]] Bytes memory() const { return memory_; }                 ///< of all programs
  [[nodiscard]] std::int64_t reorders() const { return reorders_; }      ///< of the first bucket's

 private:
  struct Lane {
    worker::Backend::PreparedModel prepared;
    std::vector<std::span<std::byte>> inputs;         // whole batches
    std::vector<std::span<const std::byte>> outputs;  // whole batches
  };
  struct Bucket {
    std::size_t samples = 0;
    std::vector<model::DataType> output_types;
    std::vector<Lane> lanes;
  };

  void make_samples(const RequestedModel& model,
                    const std::vector<model::TensorType>& types,
                    std::uint64_t seed);
  [[nodiscard]] results::Outcome check_parts(const std::vector<model::TensorType>& inputs,
                                             const std::vector<model::Tensor>& outputs,
                                             std::size_t samples);
  [[nodiscard]] static results::Outcome take_places(const ReadyModel& ready, Lane& lane);
  void check_answer(const Bucket& bucket,
                    const Lane& lane,
                    const loadgen::BatchExecutor::Batch& batch) const;

  std::string name_;
  std::size_t count_;                                // of samples
  worker::Backend* backend_ = nullptr;               // of the buckets
  std::vector<std::vector<model::Tensor>> samples_;  // in the types that the programs take
  std::vector<model::TensorType> sample_outputs_;
  std::vector<Bucket> buckets_;
  std::atomic<std::uint64_t> batches_{0};
  Bytes memory_;
  std::int64_t reorders_ = 0;
};

/// Makes the load that checks answers before the load. It is the accuracy run of the first
/// `samples` samples, but server's come in one query, so that batches of every size are made.
[[nodiscard]] loadgen::RequestedLoad answer_check_load(const loadgen::RequestedLoad& load,
                                                       std::uint64_t samples);

}  // namespace plumb::engine
