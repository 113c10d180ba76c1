// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/worker/protocol/worker_service.hpp"
#include "harness/worker/protocol/worker_setup.hpp"

namespace plumb::protocol {
class AlternateRequest;
class Alternation;
class Calibration;
class EngineChoices;
class Environment;
class Error;
class ExecuteProgress;
class Execution;
class ExecuteRequest;
class ExportRequest;
class LayerKey;
class ScenarioResult;
class LoadProgress;
class LoadRequest;
class Measurement;
class MeasureRequest;
class ModelCode;
class Outcome;
class PreviewRequest;
class Profile;
class ProfileRequest;
class Reproducer;
class ReproducerRequest;
class SamplingPlan;
class Trace;
class TraceRequest;
class Variants;
class WorkerSetup;
}  // namespace plumb::protocol

namespace plumb::worker {

/// Version of the protocol, raised whenever a message changes its meaning. Both sides must have the
/// same.
inline constexpr std::uint32_t kProtocolVersion = 11;

/// Limits of the lists in one message.
inline constexpr std::size_t kMaxSentSamples = 1'000'000;
inline constexpr std::size_t kMaximumVariants = 10'000;

/// Converts values to messages of protocol.proto, field by field.
[[nodiscard]] protocol::WorkerSetup to_protocol(const WorkerSetup& setup);
[[nodiscard]] protocol::LayerKey to_protocol(const model::LayerKey& key);
[[nodiscard]] protocol::SamplingPlan to_protocol(const measure::SamplingPlan& plan);
[[nodiscard]] protocol::ExecuteRequest to_protocol(const ExecuteRequest& request);
[[nodiscard]] protocol::Execution to_protocol(const results::Execution& execution);
[[nodiscard]] protocol::LoadRequest to_protocol(const LoadRequest& request);
[[nodiscard]] protocol::ExecuteProgress to_protocol(const ExecuteProgress& progress);
[[nodiscard]] protocol::LoadProgress to_protocol(const LoadProgress& progress);
[[nodiscard]] protocol::ScenarioResult to_protocol(const results::ScenarioResult& load);
[[nodiscard]] protocol::Outcome to_protocol(const results::Outcome& outcome);
[[nodiscard]] protocol::PreviewRequest to_protocol(const PreviewRequest& request);
[[nodiscard]] protocol::EngineChoices to_protocol(const results::EngineChoices& choices);
[[nodiscard]] protocol::ReproducerRequest to_protocol(const ReproducerRequest& request);
[[nodiscard]] protocol::Reproducer to_protocol(const Reproducer& reproducer);
[[nodiscard]] protocol::TraceRequest to_protocol(const TraceRequest& request);
[[nodiscard]] protocol::Trace to_protocol(const Trace& trace);
[[nodiscard]] protocol::AlternateRequest to_protocol(const AlternateRequest& request);
[[nodiscard]] protocol::Alternation to_protocol(const Alternation& alternation);
[[nodiscard]] protocol::ProfileRequest to_protocol(const ProfileRequest& request);
[[nodiscard]] protocol::Profile to_protocol(const Profile& profile);
[[nodiscard]] protocol::ModelCode to_protocol(const results::ModelCode& code);
[[nodiscard]] protocol::ExportRequest to_protocol(const ExportRequest& request);
[[nodiscard]] protocol::MeasureRequest to_protocol(const MeasureRequest& request);
[[nodiscard]] protocol::Measurement to_protocol(const results::Measurement& row);
[[nodiscard]] protocol::Environment to_protocol(const results::Environment& environment);
[[nodiscard]] protocol::Variants to_protocol(const std::vector<Variant>& variants);
[[nodiscard]] protocol::Calibration to_protocol(const results::Calibration& calibration);
[[nodiscard]] protocol::Error to_protocol(const Error& error);

/// Converts messages to values. A message comes from outside, so the range of every number is
/// checked. All throw ProtocolError{kBroken} naming the field. A missing number reads as 0, and is
/// refused where 0 is.
[[nodiscard]] WorkerSetup from_protocol(const protocol::WorkerSetup& message);
[[nodiscard]] model::LayerKey from_protocol(const protocol::LayerKey& message);
[[nodiscard]] measure::SamplingPlan from_protocol(const protocol::SamplingPlan& message);
[[nodiscard]] ExecuteRequest from_protocol(const protocol::ExecuteRequest& message);
[[nodiscard]] results::Execution from_protocol(const protocol::Execution& message);
[[nodiscard]] LoadRequest from_protocol(const protocol::LoadRequest& message);
[[nodiscard]] ExecuteProgress from_protocol(const protocol::ExecuteProgress& message);
[[nodiscard]] LoadProgress from_protocol(const protocol::LoadProgress& message);
[[nodiscard]] results::ScenarioResult from_protocol(const protocol::ScenarioResult& message);
[[nodiscard]] results::Outcome from_protocol(const protocol::Outcome& message);
[[nodiscard]] PreviewRequest from_protocol(const protocol::PreviewRequest& message);
[[nodiscard]] results::EngineChoices from_protocol(const protocol::EngineChoices& message);
[[nodiscard]] ReproducerRequest from_protocol(const protocol::ReproducerRequest& message);
[[nodiscard]] Reproducer from_protocol(const protocol::Reproducer& message);
[[nodiscard]] TraceRequest from_protocol(const protocol::TraceRequest& message);
[[nodiscard]] Trace from_protocol(const protocol::Trace& message);
[[nodiscard]] AlternateRequest from_protocol(const protocol::AlternateRequest& message);
[[nodiscard]] Alternation from_protocol(const protocol::Alternation& message);
[[nodiscard]] ProfileRequest from_protocol(const protocol::ProfileRequest& message);
[[nodiscard]] Profile from_protocol(const protocol::Profile& message);
[[nodiscard]] results::ModelCode from_protocol(const protocol::ModelCode& message);
[[nodiscard]] ExportRequest from_protocol(const protocol::ExportRequest& message);
[[nodiscard]] MeasureRequest from_protocol(const protocol::MeasureRequest& message);
[[nodiscard]] results::Measurement from_protocol(const protocol::Measurement& message);
[[nodiscard]] results::Environment from_protocol(const protocol::Environment& message);
[[nodiscard]] std::vector<Variant> from_protocol(const protocol::Variants& message);
[[nodiscard]] results::Calibration from_protocol(const protocol::Calibration& message);
[[nodiscard]] Error from_protocol(const protocol::Error& message);
[[nodiscard]] results::ExecutionMode mode_from(const std::string& text);

}  // namespace plumb::worker
