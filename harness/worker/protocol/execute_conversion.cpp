// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "harness/base/error.hpp"
#include "harness/worker/protocol/message_field.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/protocol_error.hpp"

namespace plumb::worker {
namespace {

constexpr std::size_t kMaximumDims = 1000;
constexpr std::size_t kMaximumModes = 100;
constexpr std::size_t kMaximumSteps = 1'000'000;
constexpr std::int64_t kMaximumAttempts = 1000;

std::string dtype_from(const std::string& text) {
  const std::optional<model::DataType> type = model::parse_data_type(text);
  if (text != "tf32" && !(type && model::is_floating(*type))) {
    throw ProtocolError(
        ProtocolError::Kind::kBroken,
        fmt::format("field 'dtype' of a message is '{}', which is not a type of models",
                    text.substr(0, 100)));
  }
  return text;
}

protocol::ModeRequest mode_message(const ModeRequest& request) {
  protocol::ModeRequest message;
  message.set_mode(to_text(request.mode));
  message.set_reorder_seconds_per_byte(request.reorder_per_byte.count());
  for (const ModeStep& step : request.steps) {
    protocol::ModeStep& one = *message.add_steps();
    one.mutable_layers()->Add(step.layers.begin(), step.layers.end());
    *one.mutable_key() = to_protocol(step.key);
    for (const VariantTime& choice : step.choices) {
      protocol::VariantTime& added = *one.add_choices();
      added.set_variant(choice.variant);
      added.set_seconds(choice.seconds.count());
    }
  }
  return message;
}

protocol::TimeInContext message_of(const results::TimeInContext& time) {
  protocol::TimeInContext message;
  message.set_median_seconds(time.median.count());
  message.set_low_seconds(time.interval.low.count());
  message.set_high_seconds(time.interval.high.count());
  return message;
}

/// Reads the field `in_context` of a layer or an execution.
template <typename Message>
std::optional<results::TimeInContext> in_context_from(const Message& message) {
  if (!message.has_in_context()) {
    return std::nullopt;
  }
  const protocol::TimeInContext& time = message.in_context();
  return results::TimeInContext{Seconds(time.median_seconds()),
                                {Seconds(time.low_seconds()), Seconds(time.high_seconds())}};
}

std::vector<VariantTime> choices_from(const protocol::ModeStep& step) {
  check_size("choices", static_cast<std::size_t>(step.choices_size()), kMaximumSteps);
  if (step.choices_size() == 0) {
    throw ProtocolError(ProtocolError::Kind::kBroken, "a step of a mode has no variant");
  }
  std::vector<VariantTime> choices;
  for (const protocol::VariantTime& choice : step.choices()) {
    choices.push_back({choice.variant(), read_time("choices", choice.seconds())});
  }
  return choices;
}

SampledBlocks sampled_blocks_from(const protocol::SampledBlocks& message) {
  const SampledBlocks sampled{bounded("rate", message.rate(), kMinSamplingRate, kMaxSamplingRate),
                              message.folder()};
  if (!sampled.folder.is_absolute()) {
    fail_field("folder", "not an absolute path");
  }
  return sampled;
}

ModeRequest mode_request_from(const protocol::ModeRequest& message) {
  ModeRequest request;
  request.mode = mode_from(message.mode());
  request.reorder_per_byte =
      read_time("reorder_seconds_per_byte", message.reorder_seconds_per_byte());
  check_size("steps", static_cast<std::size_t>(message.steps_size()), kMaximumSteps);
  for (const protocol::ModeStep& step : message.steps()) {
    check_size("layers", static_cast<std::size_t>(step.layers_size()), kMaximumSteps);
    request.steps.push_back({{step.layers().begin(), step.layers().end()},
                             from_protocol(step.key()),
                             choices_from(step)});
  }
  return request;
}

}  // namespace

results::ExecutionMode mode_from(const std::string& text) {
  try {
    return results::execution_mode_from(text);
  } catch (const Error& error) {
    throw ProtocolError(ProtocolError::Kind::kBroken, error.what());
  }
}

protocol::ExecuteRequest to_protocol(const ExecuteRequest& request) {
  protocol::ExecuteRequest message;
  message.set_name(request.name);
  message.set_model(request.model);
  message.set_path(request.path.string());
  if (request.code) {
    *message.mutable_code() = to_protocol(*request.code);
  }
  if (request.batch) {
    message.set_batch(*request.batch);
  }
  message.set_rebatch(request.rebatch);
  message.mutable_dims()->insert(request.dims.begin(), request.dims.end());
  for (const ModeRequest& mode : request.modes) {
    *message.add_modes() = mode_message(mode);
  }
  message.set_dtype(request.dtype);
  if (!request.training.empty()) {
    message.set_training(request.training);
  }
  *message.mutable_sampling() = to_protocol(request.sampling);
  message.set_seed(request.seed);
  message.set_disturbed_attempts(request.disturbed_attempts);
  if (request.host_pace) {
    message.set_host_pace_seconds(request.host_pace->count());
  }
  message.set_profile(request.profile);
  message.set_verify(request.verify);
  message.set_in_turns(request.in_turns);
  if (request.sampled) {
    message.mutable_sampled()->set_rate(request.sampled->rate);
    message.mutable_sampled()->set_folder(request.sampled->folder.string());
  }
  return message;
}

ExecuteRequest from_protocol(const protocol::ExecuteRequest& message) {
  ExecuteRequest request;
  request.name = message.name();
  request.model = message.model();
  request.path = message.path();
  if (message.has_code()) {
    request.code = from_protocol(message.code());
  }
  if (message.has_batch()) {
    request.batch = not_negative("batch", message.batch());
  }
  request.rebatch = message.rebatch();
  check_size("dims", static_cast<std::size_t>(message.dims_size()), kMaximumDims);
  for (const auto& [name, extent] : message.dims()) {
    request.dims[name] = not_negative("dims", extent);
  }
  check_size("modes", static_cast<std::size_t>(message.modes_size()), kMaximumModes);
  if (message.modes_size() == 0) {
    throw ProtocolError(ProtocolError::Kind::kBroken,
                        "a message asks to execute a model in no mode");
  }
  request.modes.clear();
  for (const protocol::ModeRequest& mode : message.modes()) {
    request.modes.push_back(mode_request_from(mode));
  }
  request.dtype = dtype_from(message.dtype());
  request.training = message.training();
  request.sampling = from_protocol(message.sampling());
  request.seed = message.seed();
  request.disturbed_attempts =
      std::min(not_negative("disturbed_attempts", message.disturbed_attempts()), kMaximumAttempts);
  if (message.has_host_pace_seconds()) {
    request.host_pace = read_time("host_pace_seconds", message.host_pace_seconds());
  }
  request.profile = !message.has_profile() || message.profile();
  request.verify = !message.has_verify() || message.verify();
  request.in_turns = message.in_turns();
  if (message.has_sampled()) {
    request.sampled = sampled_blocks_from(message.sampled());
  }
  return request;
}

protocol::Execution to_protocol(const results::Execution& execution) {
  protocol::Execution message;
  message.set_mode(execution.mode);
  message.set_scenario(std::string(to_text(execution.scenario)));
  *message.mutable_row() = to_protocol(execution.row);
  message.set_memory_bytes(execution.memory.value);
  message.set_reorders(execution.reorders);
  if (execution.in_context) {
    *message.mutable_in_context() = message_of(*execution.in_context);
  }
  for (const results::ExecutedLayer& layer : execution.layers) {
    protocol::ExecutedLayer& one = *message.add_layers();
    one.mutable_layers()->Add(layer.layers.begin(), layer.layers.end());
    if (!layer.layers.empty()) {
      *one.mutable_key() = to_protocol(layer.key);
    }
    one.set_variant(layer.variant);
    one.set_seconds(layer.seconds.count());
    one.set_reorder_seconds(layer.reorder.count());
    one.set_reorders(layer.reorders);
    if (layer.in_context) {
      *one.mutable_in_context() = message_of(*layer.in_context);
    }
  }
  return message;
}

results::Execution from_protocol(const protocol::Execution& message) {
  results::Execution execution;
  execution.mode = message.mode();
  if (message.has_scenario()) {
    const auto scenario = loadgen::parse_scenario_name(message.scenario());
    if (!scenario) {
      fail_field("scenario", "names no scenario");
    }
    execution.scenario = *scenario;
  }
  execution.row = from_protocol(message.row());
  execution.memory.value = not_negative("memory_bytes", message.memory_bytes());
  execution.reorders = not_negative("reorders", message.reorders());
  execution.in_context = in_context_from(message);
  check_size("layers", static_cast<std::size_t>(message.layers_size()), kMaximumSteps);
  for (const protocol::ExecutedLayer& layer : message.layers()) {
    check_size("layers", static_cast<std::size_t>(layer.layers_size()), kMaximumSteps);
    execution.layers.push_back(
        {{layer.layers().begin(), layer.layers().end()},
         layer.layers().empty() ? model::LayerKey{} : from_protocol(layer.key()),
         layer.variant(),
         Seconds(layer.seconds()),
         Seconds(layer.reorder_seconds()),
         not_negative("reorders", layer.reorders()),
         in_context_from(layer)});
  }
  return execution;
}

protocol::ExecuteProgress to_protocol(const ExecuteProgress& progress) {
  protocol::ExecuteProgress message;
  message.set_share(progress.share);
  message.set_elapsed_seconds(progress.elapsed.count());
  return message;
}

ExecuteProgress from_protocol(const protocol::ExecuteProgress& message) {
  return {bounded("share", message.share(), 0.0, 1.0),
          read_time("elapsed_seconds", message.elapsed_seconds())};
}

}  // namespace plumb::worker
