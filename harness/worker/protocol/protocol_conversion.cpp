// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol/protocol_conversion.hpp"

#include <array>
#include <string>
#include <utility>

#include "harness/worker/protocol/message_field.hpp"
#include "harness/worker/protocol/protocol.pb.h"

namespace plumb::worker {
namespace {

constexpr std::size_t kMaximumKeyText = std::size_t{64} << 10;
constexpr std::uint64_t kMaxRepetitions = std::uint64_t{1} << 40;

constexpr std::array kOutcomes{
    std::pair{results::Outcome::Kind::kOk, protocol::Outcome::OK},
    std::pair{results::Outcome::Kind::kUnsupported, protocol::Outcome::UNSUPPORTED},
    std::pair{results::Outcome::Kind::kOutOfMemory, protocol::Outcome::OUT_OF_MEMORY},
    std::pair{results::Outcome::Kind::kWrongResult, protocol::Outcome::WRONG_RESULT},
    std::pair{results::Outcome::Kind::kTimedOut, protocol::Outcome::TIMED_OUT},
    std::pair{results::Outcome::Kind::kCrashed, protocol::Outcome::CRASHED},
    std::pair{results::Outcome::Kind::kUnstable, protocol::Outcome::UNSTABLE},
    std::pair{results::Outcome::Kind::kSkipped, protocol::Outcome::SKIPPED},
};
constexpr std::array kErrors{
    std::pair{Error::Kind::kInternal, protocol::Error::INTERNAL},
    std::pair{Error::Kind::kUser, protocol::Error::USER},
    std::pair{Error::Kind::kEnvironment, protocol::Error::ENVIRONMENT},
    std::pair{Error::Kind::kRefused, protocol::Error::REFUSED},
    std::pair{Error::Kind::kTryAgain, protocol::Error::TRY_AGAIN},
};

double rate(const char* field, double value) {
  return bounded(field, value, 0.0, 1e30);
}

}  // namespace

protocol::Outcome to_protocol(const results::Outcome& outcome) {
  protocol::Outcome message;
  message.set_kind(outward(kOutcomes, outcome.kind));
  message.set_reason(outcome.reason);
  return message;
}

results::Outcome from_protocol(const protocol::Outcome& message) {
  require_field("outcome.kind", message.has_kind());
  return {inward(kOutcomes, "outcome.kind", message.kind()), message.reason()};
}

protocol::LayerKey to_protocol(const model::LayerKey& key) {
  protocol::LayerKey message;
  message.set_text(key.text);
  return message;
}

model::LayerKey from_protocol(const protocol::LayerKey& message) {
  if (message.text().empty()) {
    fail_field("key.text", "empty");
  }
  check_size("key.text", message.text().size(), kMaximumKeyText);
  return {message.text()};
}

protocol::SamplingPlan to_protocol(const measure::SamplingPlan& plan) {
  protocol::SamplingPlan message;
  message.set_warm_up_at_least_seconds(plan.warm_up_at_least.count());
  message.set_warm_up_at_most_seconds(plan.warm_up_at_most.count());
  message.set_budget_seconds(plan.budget.count());
  message.set_relative_half_width(plan.relative_half_width);
  message.set_samples_at_least(plan.samples_at_least);
  message.set_samples_at_most(plan.samples_at_most);
  message.set_sample_at_least_seconds(plan.sample_at_least.count());
  message.set_repetitions_at_most(plan.repetitions_at_most);
  return message;
}

measure::SamplingPlan from_protocol(const protocol::SamplingPlan& message) {
  measure::SamplingPlan plan;
  plan.warm_up_at_least =
      read_time("sampling.warm_up_at_least_seconds", message.warm_up_at_least_seconds());
  plan.warm_up_at_most =
      read_time("sampling.warm_up_at_most_seconds", message.warm_up_at_most_seconds());
  plan.budget = read_time("sampling.budget_seconds", message.budget_seconds());
  plan.relative_half_width =
      bounded("sampling.relative_half_width", message.relative_half_width(), 0.0, 1e6);
  plan.samples_at_least = bounded("sampling.samples_at_least",
                                  message.samples_at_least(),
                                  std::uint64_t{1},
                                  std::uint64_t{kMaxSentSamples});
  plan.samples_at_most = bounded("sampling.samples_at_most",
                                 message.samples_at_most(),
                                 std::uint64_t{1},
                                 std::uint64_t{kMaxSentSamples});
  plan.sample_at_least =
      read_time("sampling.sample_at_least_seconds", message.sample_at_least_seconds());
  plan.repetitions_at_most = bounded("sampling.repetitions_at_most",
                                     message.repetitions_at_most(),
                                     std::uint64_t{1},
                                     kMaxRepetitions);
  return plan;
}

protocol::Environment to_protocol(const results::Environment& environment) {
  protocol::Environment message;
  message.mutable_identity()->insert(environment.identity.begin(), environment.identity.end());
  message.mutable_facts()->insert(environment.facts.begin(), environment.facts.end());
  return message;
}

results::Environment from_protocol(const protocol::Environment& message) {
  results::Environment environment;
  environment.identity.insert(message.identity().begin(), message.identity().end());
  environment.facts.insert(message.facts().begin(), message.facts().end());
  return environment;
}

protocol::Variants to_protocol(const std::vector<Variant>& variants) {
  protocol::Variants message;
  for (const Variant& variant : variants) {
    protocol::Variant& added = *message.add_variant();
    added.set_text(variant.text);
    added.set_library_choice(variant.library_choice);
    added.set_reference_implementation(variant.reference_implementation);
    added.set_channels_last(variant.channels_last);
  }
  return message;
}

std::vector<Variant> from_protocol(const protocol::Variants& message) {
  check_size("variants", static_cast<std::size_t>(message.variant_size()), kMaximumVariants);
  std::vector<Variant> variants;
  for (const protocol::Variant& variant : message.variant()) {
    variants.push_back({variant.text(),
                        variant.library_choice(),
                        variant.reference_implementation(),
                        variant.channels_last()});
  }
  return variants;
}

protocol::Calibration to_protocol(const results::Calibration& calibration) {
  protocol::Calibration message;
  message.set_peak_f32_flops_per_second(calibration.peak_f32.value);
  message.set_peak_bf16_flops_per_second(calibration.peak_bf16.value);
  message.set_memory_bytes_per_second(calibration.memory_bandwidth.value);
  message.set_last_level_cache_bytes(calibration.last_level_cache.value);
  message.set_floor_seconds(calibration.floor.count());
  message.set_timer_tick_seconds(calibration.timer_tick.count());
  message.set_parallel_efficiency(calibration.parallel_efficiency);
  if (calibration.theoretical_f32) {
    message.set_theoretical_f32_flops_per_second(calibration.theoretical_f32->value);
  }
  if (calibration.peak_f16) {
    message.set_peak_f16_flops_per_second(calibration.peak_f16->value);
  }
  if (calibration.peak_tf32) {
    message.set_peak_tf32_flops_per_second(calibration.peak_tf32->value);
  }
  if (calibration.peak_int8) {
    message.set_peak_int8_operations_per_second(calibration.peak_int8->value);
  }
  return message;
}

results::Calibration from_protocol(const protocol::Calibration& message) {
  results::Calibration calibration;
  calibration.peak_f32 = {rate("peak_f32_flops_per_second", message.peak_f32_flops_per_second())};
  calibration.peak_bf16 = {
      rate("peak_bf16_flops_per_second", message.peak_bf16_flops_per_second())};
  calibration.memory_bandwidth = {
      rate("memory_bytes_per_second", message.memory_bytes_per_second())};
  calibration.last_level_cache = {bounded(
      "last_level_cache_bytes", std::int64_t{message.last_level_cache_bytes()}, std::int64_t{0})};
  calibration.floor = read_time("floor_seconds", message.floor_seconds());
  calibration.timer_tick = read_time("timer_tick_seconds", message.timer_tick_seconds());
  calibration.parallel_efficiency =
      bounded("parallel_efficiency", message.parallel_efficiency(), 0.0, 1e3);
  if (message.has_theoretical_f32_flops_per_second()) {
    calibration.theoretical_f32 = FlopsPerSecond{
        rate("theoretical_f32_flops_per_second", message.theoretical_f32_flops_per_second())};
  }
  if (message.has_peak_f16_flops_per_second()) {
    calibration.peak_f16 =
        FlopsPerSecond{rate("peak_f16_flops_per_second", message.peak_f16_flops_per_second())};
  }
  if (message.has_peak_tf32_flops_per_second()) {
    calibration.peak_tf32 =
        FlopsPerSecond{rate("peak_tf32_flops_per_second", message.peak_tf32_flops_per_second())};
  }
  if (message.has_peak_int8_operations_per_second()) {
    calibration.peak_int8 = FlopsPerSecond{
        rate("peak_int8_operations_per_second", message.peak_int8_operations_per_second())};
  }
  return calibration;
}

protocol::Error to_protocol(const Error& error) {
  protocol::Error message;
  message.set_kind(outward(kErrors, error.kind()));
  message.set_text(error.what());
  return message;
}

Error from_protocol(const protocol::Error& message) {
  return {inward(kErrors, "error.kind", message.kind()), message.text()};
}

}  // namespace plumb::worker
