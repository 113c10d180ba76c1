// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/measure/sampler.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/worker/protocol/backend.hpp"

namespace plumb::engine {

/// Clock that only programs move, and what they did with it.
struct Script {
  Seconds now{100.0};
  std::vector<std::string> log;  ///< "prepare NAME", "bind NAME 3 shared", "drop NAME"
  std::map<std::string, std::vector<std::size_t>> enqueued;

  [[nodiscard]] measure::Clock clock() {
    return [this] { return now += Seconds(1e-9); };
  }
};

/// Behaviour of one variant of the scripted backend. It computes relu by copying what is
/// positive.
struct ScriptedVariant {
  worker::Variant variant;
  Seconds hot{1e-3};
  double scatter = 0.0;  ///< share by which executions are shorter or longer, in turn
  double drift = 0.0;    ///< share by which executions are longer with each second
  std::size_t disturbed =
      0;                    ///< number of the first executions, which take a hundred times as long
  Seconds cold_extra{0.0};  ///< added where the slot is not the last one used
  results::Outcome prepare;
  std::string throws;  ///< at the first execution: "bad_alloc" or a text
  bool wrong = false;
  bool wrong_at_once = false;  ///< launch by launch it is right
  Bytes weight_bytes;
  Bytes activation_bytes{64};
  results::Attributes prepared{};  ///< attributes that are known from preparing it
  worker::Program::Observation observed{};
  std::size_t steps = 0;         ///< of a model
  Seconds step_in_context{0.0};  ///< each, beside an execution for all of them that are asked for
};

class ScriptedProgram final : public worker::Program {
 public:
  ScriptedProgram(ScriptedVariant variant, Script& script)
      : variant_(std::move(variant)), script_(script) {}
  ~ScriptedProgram() override { script_.log.push_back("drop " + variant_.variant.text); }
  ScriptedProgram(const ScriptedProgram&) = delete;
  ScriptedProgram& operator=(const ScriptedProgram&) = delete;

  [[nodiscard]] worker::Program::Facts facts() const override {
    return {"scripted",
            Seconds(0.002),
            Bytes{128},
            variant_.activation_bytes,
            variant_.weight_bytes,
            variant_.prepared};
  }
  [[nodiscard]] worker::Program::Observation collect_counters(std::size_t slot,
                                                              Seconds budget) override {
    script_.log.push_back("observe " + variant_.variant.text + " " + std::to_string(slot));
    script_.now += budget;
    worker::Program::Observation seen = variant_.observed;
    if (budget <= Seconds(0.0)) {
      seen.readings.clear();
    }
    return seen;
  }
  void bind(std::size_t slot, std::span<const model::Tensor> operands, bool shared) override {
    script_.log.push_back("bind " + variant_.variant.text + " " + std::to_string(slot) +
                          (shared ? " shared" : ""));
    script_.now += Seconds(1e-5);
    if (slot == 0) {
      input_ = operands[0];
    }
  }
  void refresh_activations(std::size_t slot) override {
    script_.log.push_back("hand on " + variant_.variant.text + " " + std::to_string(slot));
  }
  void enqueue(std::size_t slot) override {
    if (variant_.throws == "bad_alloc") {
      throw std::bad_alloc();
    }
    if (!variant_.throws.empty()) {
      throw std::runtime_error(variant_.throws);
    }
    script_.enqueued[variant_.variant.text].push_back(slot);
    script_.now += executed_ < variant_.disturbed ? 99.0 * variant_.hot : Seconds(0.0);
    const double turn = static_cast<double>(executed_++ * 7 % 11) / 5.0 - 1.0;  // -1 … 1, mean 0
    script_.now += variant_.hot * (1.0 + variant_.scatter * turn + variant_.drift * age()) +
                   (slot == last_ ? Seconds(0.0) : variant_.cold_extra);
    last_ = slot;
  }
  [[nodiscard]] std::vector<Seconds> profile(std::size_t /*slot*/) override {
    script_.now += variant_.hot;
    return std::vector<Seconds>(variant_.steps, variant_.hot / static_cast<double>(variant_.steps));
  }
  [[nodiscard]] std::vector<Seconds> profile_in_context(std::size_t /*slot*/,
                                                        const std::vector<bool>& wanted) override {
    std::vector<Seconds> times;
    for (const bool one : wanted) {
      times.push_back(one ? variant_.step_in_context : Seconds(0.0));
      script_.now += times.back();
    }
    script_.now += variant_.hot;
    script_.log.push_back("in turn " +
                          std::to_string(std::count(wanted.begin(), wanted.end(), true)));
    return times;
  }
  void synchronize() override {}
  [[nodiscard]] std::vector<model::Tensor> outputs(std::size_t /*slot*/) override {
    model::Tensor output = input_;
    output.type.constant = false;
    const std::size_t count = output.data.size() / sizeof(float);
    for (std::size_t i = 0; i < count; ++i) {
      output.as<float>()[i] =
          variant_.wrong || variant_.wrong_at_once ? 7.0F : std::max(output.as<float>()[i], 0.0F);
    }
    return {output};
  }
  [[nodiscard]] std::vector<model::Tensor> outputs_launch_by_launch(
      std::size_t slot, std::span<const model::Tensor> /*operands*/) override {
    if (!variant_.wrong_at_once) {
      return {};
    }
    variant_.wrong_at_once = false;
    return outputs(slot);
  }
  [[nodiscard]] std::optional<Seconds> reorder_time() override { return Seconds(3e-6); }

 private:
  [[nodiscard]] double age() const { return (script_.now - Script{}.now).count(); }

  ScriptedVariant variant_;
  Script& script_;
  model::Tensor input_;
  std::size_t last_ = 0;
  std::size_t executed_ = 0;
};

class ScriptedBackend final : public worker::Backend {
 public:
  explicit ScriptedBackend(std::vector<ScriptedVariant> variants)
      : variants_(std::move(variants)) {}

  [[nodiscard]] results::Environment describe() const override {
    return {{{"backend", "scripted"}}, {}};
  }
  [[nodiscard]] results::Outcome supports(const model::LayerKey& /*key*/) const override {
    return supported;
  }
  [[nodiscard]] std::vector<worker::Variant> variants(
      const model::LayerKey& /*key*/) const override {
    std::vector<worker::Variant> result;
    for (const ScriptedVariant& variant : variants_) {
      result.push_back(variant.variant);
    }
    return result;
  }
  [[nodiscard]] worker::Backend::Prepared prepare(const model::LayerKey& /*key*/,
                                                  const std::string& name) override {
    script.log.push_back("prepare " + name);
    for (const ScriptedVariant& variant : variants_) {
      if (variant.variant.text == name) {
        if (!variant.prepare.ok()) {
          return {nullptr, variant.prepare};
        }
        return {std::make_unique<ScriptedProgram>(variant, script), {}};
      }
    }
    return {nullptr, {results::Outcome::Kind::kUnsupported, "no such variant"}};
  }

  /// Executes a model of one layer as the first variant does.
  [[nodiscard]] worker::Backend::PreparedModel prepare_model(
      const model::Graph& graph, const worker::Backend::ModelOptions& /*options*/) override {
    worker::Backend::PreparedModel prepared;
    prepared.program = std::make_unique<ScriptedProgram>(variants_.front(), script);
    prepared.operands = graph.inputs;
    prepared.variants = {variants_.front().variant.text};
    prepared.memory = model_memory;
    for (std::size_t i = 0; i < variants_.front().steps; ++i) {
      prepared.steps.push_back({0, false});
    }
    return prepared;
  }

  [[nodiscard]] std::optional<Bytes> free_memory() const override { return free; }

  Script script;
  results::Outcome supported;
  Bytes model_memory;         ///< that a model takes
  std::optional<Bytes> free;  ///< of the device; absent: the models lie in the host's memory

 private:
  std::vector<ScriptedVariant> variants_;
};

}  // namespace plumb::engine
