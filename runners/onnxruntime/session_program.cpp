// SPDX-License-Identifier: Apache-2.0
#include "runners/onnxruntime/session_program.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::onnxruntime {
namespace {

constexpr std::uint64_t kWarmUp = 2;  // executions of a trace before those asked for

/// Writes memory again as it is, a cache line at a time.
void write_again(std::span<std::byte> bytes) {
  constexpr std::size_t kLine = 64;
  for (std::size_t i = 0; i < bytes.size(); i += kLine) {
    volatile std::byte* const place = &bytes[i];
    *place = *place;
  }
}

}  // namespace

SessionProgram::SessionProgram(const Library& library,
                               OnnxModel model,
                               const SessionSettings& settings,
                               std::shared_ptr<Session> session)
    : library_(library),
      model_(std::move(model)),
      settings_(settings),
      session_(std::move(session)),
      run_(library.find<api::RunWithBinding>()) {}

worker::ProgramFacts SessionProgram::facts() const {
  worker::ProgramFacts facts;
  facts.implementation = "optimization=" + to_text(settings_.optimization);
  facts.weight_bytes = model_.weight_bytes();
  if (!slots_.empty()) {
    facts.creation = creation_;
  }
  for (const auto* const values : {&model_.operands, &model_.outputs}) {
    for (const NamedValue& value : *values) {
      if (!value.name.empty() && !value.type.constant) {
        facts.activation_bytes += model::byte_size(value.type);
      }
    }
  }
  return facts;
}

std::shared_ptr<SessionProgram::Activations> SessionProgram::make_activations(
    std::span<const model::Tensor> operands) const {
  auto activations = std::make_shared<Activations>();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const NamedValue& operand = model_.operands[i];
    activations->inputs.emplace_back();
    if (!operand.name.empty() && !operand.type.constant) {
      activations->inputs.back() = std::make_unique<Tensor>(library_, operand.type);
      const std::span<std::byte> place = activations->inputs.back()->bytes();
      PLUMB_CHECK(place.size() == operands[i].data.size());
      std::copy(operands[i].data.begin(), operands[i].data.end(), place.begin());
    }
  }
  for (const NamedValue& output : model_.outputs) {
    activations->outputs.emplace_back(library_, output.type);
  }
  return activations;
}

SessionProgram::Slot SessionProgram::make_slot(std::shared_ptr<Session> session,
                                               std::shared_ptr<Activations> activations) const {
  Slot slot{std::move(activations), std::move(session), {}};
  slot.binding = library_.make<api::CreateIoBinding, api::ReleaseIoBinding, OrtIoBinding>(
      slot.session->handle());
  for (std::size_t i = 0; i < slot.activations->inputs.size(); ++i) {
    if (slot.activations->inputs[i]) {
      library_.call<api::BindInput>(slot.binding.get(),
                                    model_.operands[i].name.c_str(),
                                    slot.activations->inputs[i]->value());
    }
  }
  for (std::size_t i = 0; i < model_.outputs.size(); ++i) {
    library_.call<api::BindOutput>(
        slot.binding.get(), model_.outputs[i].name.c_str(), slot.activations->outputs[i].value());
  }
  return slot;
}

void SessionProgram::bind(std::size_t slot,
                          std::span<const model::Tensor> operands,
                          bool shared_activations) {
  PLUMB_CHECK(slot <= slots_.size() && operands.size() == model_.operands.size());
  const bool first = slots_.empty();
  std::shared_ptr<Session> session;
  if (session_) {
    session = session_;
  } else if (!first && model_.weight_bytes().value == 0) {
    session = slots_.front().session;
  } else {
    SessionSettings settings = settings_;
    settings.profile = settings.profile && first;
    session = std::make_shared<Session>(library_, model_.with_weights(operands), settings);
  }
  if (first) {
    creation_ = session->creation();
  }
  std::shared_ptr<Activations> activations =
      shared_activations && slot > 0 ? slots_.front().activations : make_activations(operands);
  Slot made = make_slot(std::move(session), std::move(activations));
  if (slot == slots_.size()) {
    slots_.push_back(std::move(made));
  } else {
    slots_[slot] = std::move(made);
  }
}

void SessionProgram::refresh_activations(std::size_t slot) {
  const Activations& activations = *slots_[slot].activations;
  for (const Tensor& output : activations.outputs) {
    write_again(output.bytes());
  }
  for (const std::unique_ptr<Tensor>& input : activations.inputs) {
    if (input) {
      write_again(input->bytes());
    }
  }
}

void SessionProgram::enqueue(std::size_t slot) {
  const Slot& bound = slots_[slot];
  OrtStatus* const status = run_(bound.session->handle(), nullptr, bound.binding.get());
  if (status != nullptr) {
    library_.find<api::ReleaseStatus>()(std::exchange(failure_, status));
  }
}

void SessionProgram::synchronize() {
  library_.check(std::exchange(failure_, nullptr));
}

std::vector<model::Tensor> SessionProgram::outputs(std::size_t slot) {
  const Slot& bound = slots_[slot];
  // The first execution was profiled. Nothing has been timed before its outputs are looked at.
  if (results::Attributes nodes = bound.session->end_profile(); !nodes.empty()) {
    nodes_ = std::move(nodes);
  }
  std::vector<model::Tensor> result;
  for (std::size_t i = 0; i < model_.outputs.size(); ++i) {
    const std::span<const std::byte> bytes = bound.activations->outputs[i].bytes();
    result.push_back({model_.outputs[i].type, {bytes.begin(), bytes.end()}});
  }
  return result;
}

std::span<std::byte> SessionProgram::input_bytes(std::size_t slot, std::size_t operand) {
  const Activations& activations = *slots_[slot].activations;
  return operand < activations.inputs.size() && activations.inputs[operand]
             ? activations.inputs[operand]->bytes()
             : std::span<std::byte>();
}

std::span<const std::byte> SessionProgram::output_bytes(std::size_t slot, std::size_t output) {
  return slots_[slot].activations->outputs.at(output).bytes();
}

std::vector<worker::TraceFile> SessionProgram::trace(std::size_t slot,
                                                     std::span<const model::Tensor> operands,
                                                     const std::filesystem::path& folder,
                                                     std::uint64_t executions,
                                                     const std::vector<std::string>& steps) {
  static_cast<void>(steps);
  SessionSettings settings = settings_;
  settings.profile = false;
  settings.traces = folder;
  const Slot traced =
      make_slot(std::make_shared<Session>(library_, model_.with_weights(operands), settings),
                slots_.at(slot).activations);
  for (std::uint64_t execution = 0; execution < executions + kWarmUp; ++execution) {
    library_.check(run_(traced.session->handle(), nullptr, traced.binding.get()));
  }
  return {{"onnxruntime", traced.session->end_trace().filename().string()}};
}

worker::Observation SessionProgram::collect_counters(std::size_t slot, Seconds budget) {
  static_cast<void>(budget);
  worker::Observation seen{nodes_, {}};
  std::string log = slot < slots_.size() ? slots_[slot].session->log() : std::string();
  if (!log.empty()) {
    seen.attributes[results::kSessionLog] = std::move(log);
  }
  return seen;
}

}  // namespace plumb::onnxruntime
