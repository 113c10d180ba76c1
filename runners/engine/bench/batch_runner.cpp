// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/batch_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "harness/base/error.hpp"
#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/exec/requested_model.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::engine {
namespace {

/// Returns whether `batch` is `sample` repeated `times` times along the first dimension.
bool is_joined(const model::TensorType& batch, const model::TensorType& sample, std::size_t times) {
  if (batch.dtype != sample.dtype || batch.dims.size() != sample.dims.size()) {
    return false;
  }
  if (times == 1) {
    return batch.dims == sample.dims;
  }
  if (sample.dims.empty() || batch.dims[0] != sample.dims[0] * static_cast<std::int64_t>(times)) {
    return false;
  }
  return std::equal(batch.dims.begin() + 1, batch.dims.end(), sample.dims.begin() + 1);
}

results::Outcome not_joined(const char* what,
                            std::size_t index,
                            const model::TensorType& batch,
                            const model::TensorType& sample,
                            std::size_t times) {
  return {results::Outcome::Kind::kUnsupported,
          fmt::format("{} {} is [{}] for {} samples and [{}] for one, so it cannot be split along "
                      "its first dimension: load with a maximum batch of 1",
                      what,
                      index,
                      fmt::join(batch.dims, ","),
                      times,
                      fmt::join(sample.dims, ","))};
}

/// Returns the bytes of one sample of a batch.
template <typename Byte>
std::span<Byte> part_of(std::span<Byte> batch, std::size_t bucket, std::size_t sample) {
  const std::size_t size = batch.size() / bucket;
  return batch.subspan(sample * size, size);
}

}  // namespace

void BatchRunner::make_samples(const RequestedModel& model,
                               const std::vector<model::TensorType>& types,
                               std::uint64_t seed) {
  for (std::size_t i = 0; i < count_; ++i) {
    std::vector<model::Tensor> sample = model.make_inputs(seed + i);
    for (std::size_t input = 0; input < sample.size(); ++input) {
      if (sample[input].type.dtype != types[input].dtype) {
        sample[input] = tensor_from(types[input], read_numbers(sample[input]));
      }
    }
    samples_.push_back(std::move(sample));
  }
}

results::Outcome BatchRunner::check_parts(const std::vector<model::TensorType>& inputs,
                                          const std::vector<model::Tensor>& outputs,
                                          std::size_t samples) {
  const std::vector<model::Tensor>& one = samples_.front();
  PLUMB_CHECK(inputs.size() == one.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (!is_joined(inputs[i], one[i].type, samples)) {
      return not_joined("input", i, inputs[i], one[i].type, samples);
    }
  }
  if (sample_outputs_.empty()) {
    std::transform(outputs.begin(),
                   outputs.end(),
                   std::back_inserter(sample_outputs_),
                   [](const model::Tensor& output) { return output.type; });
  }
  PLUMB_CHECK(outputs.size() == sample_outputs_.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!is_joined(outputs[i].type, sample_outputs_[i], samples)) {
      return not_joined("output", i, outputs[i].type, sample_outputs_[i], samples);
    }
  }
  return {};
}

results::Outcome BatchRunner::take_places(const ReadyModel& ready, Lane& lane) {
  const model::Graph& graph = ready.plan.fused.graph;
  const std::vector<model::ValueId>& order = ready.prepared.operands;
  worker::Program& program = *ready.prepared.program;
  for (const model::ValueId input : graph.inputs) {
    const auto place = std::find(order.begin(), order.end(), input);
    lane.inputs.push_back(program.input_bytes(0, static_cast<std::size_t>(place - order.begin())));
    if (lane.inputs.back().size() !=
        static_cast<std::size_t>(model::byte_size(graph.values[input].type).value)) {
      return {
          results::Outcome::Kind::kUnsupported,
          fmt::format("input '{}' cannot be written between executions", graph.values[input].name)};
    }
  }
  for (std::size_t i = 0; i < ready.outputs.size(); ++i) {
    lane.outputs.push_back(program.output_bytes(0, i));
    if (lane.outputs.back().size() != ready.outputs[i].data.size()) {
      return {results::Outcome::Kind::kUnsupported,
              fmt::format("output '{}' cannot be read between executions",
                          graph.values[graph.outputs[i]].name)};
    }
  }
  return {};
}

results::Outcome BatchRunner::add(worker::Backend& backend,
                                  const worker::LoadRequest::Bucket& bucket,
                                  std::size_t lanes,
                                  const measure::Clock& clock) {
  PLUMB_CHECK(buckets_.empty() ? bucket.samples == 1 : bucket.samples > buckets_.back().samples);
  if (buckets_.empty()) {
    backend_ = &backend;
    backend.partition_threads(lanes);
  }
  RequestedModel model(bucket.model);
  std::vector<ReadyModel> ready;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    ready.push_back(prepare_mode(backend, model, bucket.model.modes.front()));
    if (!ready.back().outcome.ok()) {
      return ready.back().outcome;
    }
  }
  const model::Graph& graph = ready.front().plan.fused.graph;
  std::vector<model::TensorType> inputs;
  for (const model::ValueId input : graph.inputs) {
    inputs.push_back(graph.values[input].type);
  }
  model.fill();
  if (buckets_.empty()) {
    make_samples(model, inputs, bucket.model.seed);
    reorders_ = static_cast<std::int64_t>(ready.front().prepared.reorders);
  }
  Bucket added;
  added.samples = bucket.samples;
  for (ReadyModel& each : ready) {
    make_ready(model, clock, each);
    results::Outcome outcome = each.outcome;
    if (outcome.ok() && added.lanes.empty()) {
      outcome = check_parts(inputs, each.outputs, bucket.samples);
    }
    Lane lane;
    if (outcome.ok()) {
      outcome = take_places(each, lane);
    }
    if (!outcome.ok()) {
      return outcome;
    }
    memory_ += each.prepared.memory;
    lane.prepared = std::move(each.prepared);
    added.lanes.push_back(std::move(lane));
  }
  for (const model::Tensor& output : ready.front().outputs) {
    added.output_types.push_back(output.type.dtype);
  }
  buckets_.push_back(std::move(added));
  return {};
}

std::vector<std::size_t> BatchRunner::buckets() const {
  std::vector<std::size_t> sizes;
  std::transform(
      buckets_.begin(), buckets_.end(), std::back_inserter(sizes), [](const Bucket& bucket) {
        return bucket.samples;
      });
  return sizes;
}

void BatchRunner::execute(const loadgen::BatchExecutor::Batch& batch,
                          std::span<loadgen::Completions::Response> responses) {
  const auto bucket = std::find_if(buckets_.begin(), buckets_.end(), [&](const Bucket& each) {
    return each.samples == batch.bucket;
  });
  PLUMB_CHECK(bucket != buckets_.end() && batch.samples.size() <= bucket->samples);
  Lane& lane = bucket->lanes.at(batch.lane);
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    const std::vector<model::Tensor>& sample = samples_[batch.samples[i].index % samples_.size()];
    for (std::size_t input = 0; input < sample.size(); ++input) {
      const std::span<std::byte> place = part_of(lane.inputs[input], bucket->samples, i);
      if (!place.empty()) {
        std::memcpy(place.data(), sample[input].data.data(), place.size());
      }
    }
  }
  lane.prepared.program->enqueue(0);
  lane.prepared.program->synchronize();
  batches_.fetch_add(1, std::memory_order_relaxed);
  check_answer(*bucket, lane, batch);
  if (!lane.outputs.empty()) {
    for (std::size_t i = 0; i < responses.size(); ++i) {
      responses[i].data = part_of(lane.outputs.front(), bucket->samples, i);
    }
  }
}

model::Tensor BatchRunner::answer_alone(std::size_t sample) {
  const loadgen::SystemUnderTest::Sample query{1, sample};
  loadgen::Completions::Response response{1, {}};
  execute({0, buckets_.front().samples, {&query, 1}}, {&response, 1});
  model::Tensor answer{sample_outputs_.empty() ? model::TensorType{} : sample_outputs_.front(), {}};
  answer.data.assign(response.data.begin(), response.data.end());
  return answer;
}

void BatchRunner::check_answer(const Bucket& bucket,
                               const Lane& lane,
                               const loadgen::BatchExecutor::Batch& batch) const {
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    for (std::size_t output = 0; output < lane.outputs.size(); ++output) {
      const auto found = first_not_finite(bucket.output_types[output],
                                          part_of(lane.outputs[output], bucket.samples, i));
      if (found) {
        throw Error(
            Error::Kind::kInternal,
            fmt::format(
                "element {} of output {} is not a finite number, for sample {} in a batch of {}",
                *found,
                output,
                batch.samples[i].index,
                batch.samples.size()));
      }
    }
  }
}

BatchRunner::Check::Check(BatchRunner& executor,
                          std::size_t samples,
                          std::string_view type,
                          loadgen::ResponseLog* next)
    : type_(type), next_(next) {
  for (std::size_t index = 0; index < samples; ++index) {
    try {
      expected_.emplace_back(executor.answer_alone(index));
    } catch (const Error&) {
      expected_.emplace_back();  // the load itself will say that it cannot be answered
    }
  }
}

void BatchRunner::Check::record(std::uint64_t sequence,
                                std::uint64_t index,
                                std::span<const std::byte> data) {
  if (next_ != nullptr) {
    next_->record(sequence, index, data);
  }
  if (!expected_.at(index)) {
    return;
  }
  const model::Tensor& expected = *expected_[index];
  model::Tensor answer{expected.type, {}};
  answer.data.assign(data.begin(), data.end());
  ++agreement_.samples;
  if (answer.data.size() != expected.data.size()) {
    outcome_ = {results::Outcome::Kind::kWrongResult,
                fmt::format("the answer to sample {} has {} bytes under load, but {} alone",
                            index,
                            answer.data.size(),
                            expected.data.size())};
    return;
  }
  const double difference = largest_difference({&answer, 1}, {&expected, 1});
  agreement_.maximum_difference = std::max(agreement_.maximum_difference, difference);
  const double most = tolerated_difference({&answer, 1}, type_);
  if (difference > most && outcome_.ok()) {
    outcome_ = {results::Outcome::Kind::kWrongResult,
                fmt::format("the answer to sample {} under load differs from its answer alone by "
                            "{:.3g} of its largest magnitude; up to {:g} counts as rounding",
                            index,
                            difference,
                            most)};
  }
}

loadgen::RequestedLoad answer_check_load(const loadgen::RequestedLoad& load,
                                         std::uint64_t samples) {
  loadgen::RequestedLoad check = loadgen::accuracy_load(load, samples);
  if (load.scenario == loadgen::RequestedLoad::Scenario::kServer) {
    check.scenario = loadgen::RequestedLoad::Scenario::kOffline;
    check.percentile.reset();
    check.latency_limit.reset();
    check.target_rate.reset();
  }
  return check;
}

}  // namespace plumb::engine
