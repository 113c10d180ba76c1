// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/slowed_backend.hpp"

#include <fmt/format.h>

#include <charconv>
#include <span>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::engine {
namespace {

constexpr double kMaxPercent = 1000.0;
constexpr std::string_view kModels = "model:";

/// Program that waits after each execution for a share of its time.
class SlowedProgram final : public worker::Program {
 public:
  SlowedProgram(std::unique_ptr<worker::Program> program, double share, const measure::Clock& clock)
      : program_(std::move(program)), share_(share), clock_(clock) {}

  [[nodiscard]] worker::Program::Facts facts() const override { return program_->facts(); }
  void bind(std::size_t slot,
            std::span<const model::Tensor> operands,
            bool shared_activations) override {
    program_->bind(slot, operands, shared_activations);
  }
  void refresh_activations(std::size_t slot) override { program_->refresh_activations(slot); }
  void enqueue(std::size_t slot) override {
    const Seconds begin = clock_();
    program_->enqueue(slot);
    program_->synchronize();
    const Seconds end = clock_();
    const Seconds later = end + (end - begin) * share_;
    while (clock_() < later) {
    }
  }
  void synchronize() override { program_->synchronize(); }
  [[nodiscard]] std::vector<model::Tensor> outputs(std::size_t slot) override {
    return program_->outputs(slot);
  }
  [[nodiscard]] std::vector<model::Tensor> outputs_launch_by_launch(
      std::size_t slot, std::span<const model::Tensor> operands) override {
    return program_->outputs_launch_by_launch(slot, operands);
  }
  [[nodiscard]] std::optional<Seconds> reorder_time() override { return program_->reorder_time(); }
  [[nodiscard]] std::vector<Seconds> profile(std::size_t slot) override {
    return program_->profile(slot);
  }
  [[nodiscard]] std::vector<Seconds> profile_in_context(std::size_t slot,
                                                        const std::vector<bool>& wanted) override {
    return program_->profile_in_context(slot, wanted);
  }
  [[nodiscard]] std::span<std::byte> input_bytes(std::size_t slot, std::size_t operand) override {
    return program_->input_bytes(slot, operand);
  }
  [[nodiscard]] std::span<const std::byte> output_bytes(std::size_t slot,
                                                        std::size_t output) override {
    return program_->output_bytes(slot, output);
  }

 private:
  std::unique_ptr<worker::Program> program_;
  double share_;
  const measure::Clock& clock_;
};

}  // namespace

SlowedBackend::SlowedBackend(worker::Backend& backend,
                             std::string_view slowing,
                             measure::Clock clock)
    : backend_(backend), slowing_(slowing), clock_(std::move(clock)) {
  const std::size_t equals = slowing.rfind('=');
  double percent = -1.0;
  if (equals != std::string_view::npos) {
    const std::string_view number = slowing.substr(equals + 1);
    const auto [end, fault] =
        std::from_chars(number.data(), number.data() + number.size(), percent);
    if (fault != std::errc{} || end != number.data() + number.size()) {
      percent = -1.0;
    }
  }
  if (!(percent >= 0.0 && percent <= kMaxPercent)) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("'{}' is not a slow-down: write KEYS=PERCENT, such as v1:conv;=3", slowing));
  }
  keys_ = slowing.substr(0, equals);
  share_ = percent / 100.0;
}

results::Environment SlowedBackend::describe() const {
  results::Environment environment = backend_.describe();
  environment.identity["library.slow_layers"] = slowing_;
  return environment;
}

worker::Backend::Prepared SlowedBackend::prepare(const model::LayerKey& key,
                                                 const std::string& variant) {
  worker::Backend::Prepared prepared = backend_.prepare(key, variant);
  if (prepared.program != nullptr && key.text.starts_with(keys_)) {
    prepared.program = std::make_unique<SlowedProgram>(std::move(prepared.program), share_, clock_);
  }
  return prepared;
}

worker::Backend::PreparedModel SlowedBackend::prepare_model(
    const model::Graph& graph, const worker::Backend::ModelOptions& options) {
  worker::Backend::PreparedModel prepared = backend_.prepare_model(graph, options);
  if (prepared.program != nullptr && keys_ == kModels) {
    prepared.program = std::make_unique<SlowedProgram>(std::move(prepared.program), share_, clock_);
  }
  return prepared;
}

}  // namespace plumb::engine
