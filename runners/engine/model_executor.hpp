// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/scenario/batch_executor.hpp"
#include "harness/worker/load_request.hpp"
#include "runners/engine/ready_model.hpp"

namespace plumb {

/// Limits of the data set's number of samples: as many as fit, but at least `least`.
struct DataSetSize {
  Bytes most;
  std::size_t least = 1;
};

/// Executes batches of a whole model: a program for each bucket and lane, with buffers of its own.
///
/// Each sample's input is copied from the data set into the program's, and each answer is looked
/// at: both count as execution. A batch with an answer that is infinite or not a number fails.
/// Where a batch has fewer samples than its bucket, the rest is what was there before.
class ModelExecutor final : public BatchExecutor {
 public:
  /// `name` is for describe().
  ModelExecutor(std::string name, DataSetSize size) : name_(std::move(name)), size_(size) {}

  /// Prepares the programs of a bucket, one for each lane (all buckets have as many, of one
  /// backend, whose threads they part), in the request's first mode; buckets ascend from 1, which
  /// makes the data set. Returns why there are none: refused, too large, a wrong result, or inputs
  /// and outputs that cannot be parted into samples along their first dimension. Throws as
  /// RequestedModel and make_ready().
  [[nodiscard]] Outcome add(Backend& backend,
                            const LoadRequest::Bucket& bucket,
                            std::size_t lanes,
                            const Clock& clock);

  [[nodiscard]] std::string describe() const override { return name_; }
  [[nodiscard]] std::vector<std::size_t> buckets() const override;
  void enter_lane(std::size_t lane) override { backend_->enter_lane(lane); }
  /// Hands out the first output. Throws Error{kInternal} for an answer that is no number, naming
  /// sample and output.
  void execute(const Batch& batch, std::span<SampleResponse> responses) override;
  /// Executes one sample of the data set by itself and returns the first output. While nothing else
  /// is executed.
  [[nodiscard]] Tensor answer_alone(std::size_t sample);

  /// Counts the batches executed so far. From any thread.
  [[nodiscard]] std::uint64_t batches() const { return batches_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t samples() const { return samples_.size(); }  ///< of the data set
  [[nodiscard]] Bytes memory() const { return memory_; }                 ///< of all programs
  [[nodiscard]] std::int64_t reorders() const { return reorders_; }      ///< of the first bucket's

 private:
  struct Lane {
    PreparedModel prepared;
    std::vector<std::span<std::byte>> inputs;         // whole batches
    std::vector<std::span<const std::byte>> outputs;  // likewise
  };
  struct Bucket {
    std::size_t samples = 0;
    std::vector<DataType> output_types;
    std::vector<Lane> lanes;
  };

  void make_samples(const RequestedModel& model,
                    const std::vector<TensorType>& types,
                    std::uint64_t seed);
  [[nodiscard]] Outcome check_parts(const std::vector<TensorType>& inputs,
                                    const std::vector<Tensor>& outputs,
                                    std::size_t samples);
  [[nodiscard]] static Outcome take_places(const ReadyModel& ready, Lane& lane);
  void check_answer(const Bucket& bucket, const Lane& lane, const Batch& batch) const;

  std::string name_;
  DataSetSize size_;
  Backend* backend_ = nullptr;                // of the buckets
  std::vector<std::vector<Tensor>> samples_;  // in the types that the programs take
  std::vector<TensorType> sample_outputs_;
  std::vector<Bucket> buckets_;
  std::atomic<std::uint64_t> batches_{0};
  Bytes memory_;
  std::int64_t reorders_ = 0;
};

}  // namespace plumb
