// SPDX-License-Identifier: Apache-2.0
#include "runners/onnxruntime/onnxruntime_backend.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/model/key/operator_families.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/exec/this_process.hpp"
#include "runners/engine/service/processor_peak.hpp"
#include "runners/onnxruntime/nodes/onnx_model.hpp"
#include "runners/onnxruntime/session.hpp"

namespace plumb::onnxruntime {
namespace {

/// One model in several shapes as one session of the runtime, which plans each shape by itself when
/// it comes. Slot i executes shape i.
class ShapedProgram final : public worker::Program {
 public:
  /// Keeps a reference to the library. `models` are the same but for their shapes (join_shapes()).
  ShapedProgram(const Library& library,
                std::vector<OnnxModel> models,
                const Session::Settings& settings);

  [[nodiscard]] worker::Program::Facts facts() const override;
  /// Makes the session for the first slot. Throws Error{kUser} if the weights of a further one
  /// differ from those of the first.
  void bind(std::size_t slot,
            std::span<const model::Tensor> operands,
            bool shared_activations) override;
  void enqueue(std::size_t slot) override;
  void synchronize() override;
  [[nodiscard]] std::vector<model::Tensor> outputs(std::size_t slot) override;

 private:
  const Library& library_;
  std::vector<OnnxModel> models_;
  Session::Settings settings_;
  std::shared_ptr<Session> session_;
  std::string weights_;  // digest of those in the session
  std::vector<std::unique_ptr<SessionProgram>> shapes_;
};

/// Returns a digest of a model's weights.
std::string digest_of_weights(const OnnxModel& model, std::span<const model::Tensor> operands) {
  std::string digests;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (model.operands[i].type.constant) {
      const std::vector<std::byte>& data = operands[i].data;
      digests +=
          sha256({static_cast<const char*>(static_cast<const void*>(data.data())), data.size()});
    }
  }
  return digests;
}

ShapedProgram::ShapedProgram(const Library& library,
                             std::vector<OnnxModel> models,
                             const Session::Settings& settings)
    : library_(library), models_(std::move(models)), settings_(settings) {
  settings_.profile = false;
}

worker::Program::Facts ShapedProgram::facts() const {
  return shapes_.empty() ? worker::Program::Facts{} : shapes_.front()->facts();
}

void ShapedProgram::bind(std::size_t slot,
                         std::span<const model::Tensor> operands,
                         bool shared_activations) {
  PLUMB_CHECK(slot == shapes_.size() && slot < models_.size() && !shared_activations);
  const OnnxModel& model = models_[slot];
  std::string weights = digest_of_weights(model, operands);
  if (slot == 0) {
    session_ = std::make_shared<Session>(library_, model.with_weights(operands), settings_);
    weights_ = std::move(weights);
  } else if (weights != weights_) {
    throw Error(Error::Kind::kUser, "the weights of one shape are not those of another");
  }
  shapes_.push_back(std::make_unique<SessionProgram>(library_, model, settings_, session_));
  shapes_.back()->bind(0, operands, false);
}

void ShapedProgram::enqueue(std::size_t slot) {
  shapes_[slot]->enqueue(0);
}

void ShapedProgram::synchronize() {
  for (const std::unique_ptr<SessionProgram>& shape : shapes_) {
    shape->synchronize();
  }
}

std::vector<model::Tensor> ShapedProgram::outputs(std::size_t slot) {
  return shapes_[slot]->outputs(0);
}

constexpr Bytes kLargestTrial{64 << 20};  // of weights: larger ones take long to make

/// Runs `attempt` and turns every refusal into an outcome.
template <typename Attempt>
results::Outcome outcome_of(Attempt attempt) {
  try {
    attempt();
    return {};
  } catch (const std::bad_alloc&) {
    return {results::Outcome::Kind::kOutOfMemory, "the operands do not fit into memory"};
  } catch (const Error& refusal) {
    if (refusal.kind() == Error::Kind::kInternal) {
      throw;
    }
    return {results::Outcome::Kind::kUnsupported, refusal.what()};
  }
}

/// Throws Error{kUser} for a layer whose sums would saturate: of u8 and s8, on a processor without
/// instructions for exact ones.
void check_sums(const model::LayerSpec& spec) {
  const auto has_type = [&](std::size_t input, model::DataType type) {
    return spec.has_input(input) && spec.inputs[input]->dtype == type;
  };
  if (model::is_integer_product(spec) && has_type(0, model::DataType::kU8) &&
      has_type(1, model::DataType::kS8) && !engine::adds_byte_products_exactly()) {
    throw Error(Error::Kind::kUser,
                "products of u8 and s8 need a CPU with VNNI: without it ONNX Runtime lets sums "
                "saturate at 16 bits");
  }
}

/// Returns whether the runtime may have another kernel for a layer that works in blocks of
/// channels, and then reorders its operands.
bool has_blocked_kernels(const model::LayerSpec& spec) {
  constexpr std::array<std::string_view, 4> kOperators{
      "average_pool", "conv", "max_pool", "resize"};
  return std::find(kOperators.begin(), kOperators.end(), spec.op) != kOperators.end();
}

std::string variant_text(Session::Optimization level) {
  return "optimization=" + to_text(level);
}

Session::Optimization wanted_optimization() {
  const char* const text = std::getenv(kOptimizationVariable);
  if (text == nullptr) {
    return Session::Optimization::kAll;
  }
  const std::optional<Session::Optimization> level = parse_optimization(text);
  if (!level || *level == Session::Optimization::kOff) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("{} is '{}': give it basic, extended or all", kOptimizationVariable, text));
  }
  return *level;
}

std::string wanted_provider() {
  const char* const text = std::getenv(kProviderVariable);
  return text == nullptr ? std::string() : text;
}

class OnnxRuntimeBackend final : public worker::Backend {
 public:
  OnnxRuntimeBackend(const std::vector<std::filesystem::path>& libraries, int threads)
      : library_(libraries, threads),
        threads_(threads),
        optimization_(wanted_optimization()),
        provider_(wanted_provider()) {
    static_cast<void>(make_options(library_, session_settings(optimization_, false, false)));
  }

  [[nodiscard]] results::Environment describe() const override {
    const std::filesystem::path path = engine::mapped_file(library_.address());
    const std::string digest = path.empty() ? "unknown" : sha256_of_file(path);
    results::Environment environment;
    environment.identity["backend"] = "onnxruntime";
    environment.identity["library"] =
        fmt::format("onnxruntime-{}-{}", library_.version(), digest.substr(0, 16));
    if (optimization_ != Session::Optimization::kAll) {
      environment.identity["library.optimization"] = to_text(optimization_);
    }
    if (!provider_.empty()) {
      environment.identity["library.provider"] = provider_;
    }
    environment.facts["library.version"] = library_.version();
    environment.facts["library.path"] = path.string();
    environment.facts["library.sha256"] = digest;
    environment.facts["library.build_id"] = engine::build_id(library_.address());
    environment.facts["library.providers"] =
        fmt::format("{}", fmt::join(library_.providers(), ","));
    environment.facts["backend.sha256"] = sha256_of_file(
        engine::mapped_file(reinterpret_cast<const void*>(&make_onnxruntime_backend)));
    return environment;
  }

  [[nodiscard]] bool plans_models() const override { return true; }

  [[nodiscard]] results::Outcome supports(const model::LayerKey& key) const override {
    const auto [at, added] = supported_.try_emplace(key);
    if (added) {
      at->second = outcome_of([&] {
        const model::LayerSpec spec = model::parse_key(key);
        check_sums(spec);
        try_layer(spec);
      });
    }
    return at->second;
  }

  [[nodiscard]] std::vector<worker::Variant> variants(const model::LayerKey& key) const override {
    std::vector<worker::Variant> result;
    if (supports(key).ok()) {
      for (const Session::Optimization level : levels(model::parse_key(key))) {
        result.push_back({variant_text(level), result.empty()});
      }
    }
    return result;
  }

  [[nodiscard]] worker::Backend::Prepared prepare(const model::LayerKey& key,
                                                  const std::string& variant) override {
    worker::Backend::Prepared prepared;
    prepared.outcome = supports(key);
    if (!prepared.outcome.ok()) {
      return prepared;
    }
    const model::LayerSpec spec = model::parse_key(key);
    for (const Session::Optimization level : levels(spec)) {
      if (variant_text(level) == variant) {
        prepared.program = std::make_unique<SessionProgram>(
            library_, write_layer(spec), session_settings(level, false, true));
        return prepared;
      }
    }
    prepared.outcome = {
        results::Outcome::Kind::kUnsupported,
        fmt::format("this backend has no variant '{}' of the key; its first is '{}'",
                    variant,
                    variant_text(optimization_))};
    return prepared;
  }

  void partition_threads(std::size_t lanes) override {
    share_ = std::max(1, threads_ / static_cast<int>(lanes));
  }

  [[nodiscard]] worker::Backend::PreparedModel prepare_shapes(
      std::span<const model::Graph* const> graphs,
      const worker::Backend::ModelOptions& options) override {
    worker::Backend::PreparedModel prepared;
    prepared.outcome = outcome_of([&] {
      std::vector<OnnxModel> models;
      for (const model::Graph* const graph : graphs) {
        models.push_back(write_model(*graph, prepared.operands));
      }
      std::optional<std::string> joined = join_shapes(models);
      if (!joined || (options.parallel_branches && threads_ < 2)) {
        throw Error(Error::Kind::kUser, "each shape needs a session of its own");
      }
      models.front().bytes = std::move(*joined);
      try_model(models.front());
      prepared.program =
          std::make_unique<ShapedProgram>(library_, std::move(models), settings_of(options));
    });
    return prepared;
  }

  [[nodiscard]] worker::Backend::PreparedModel prepare_model(
      const model::Graph& graph, const worker::Backend::ModelOptions& options) override {
    worker::Backend::PreparedModel prepared;
    if (options.parallel_branches && threads_ < 2) {
      prepared.outcome = {results::Outcome::Kind::kUnsupported,
                          "nodes side by side need two threads or more"};
      return prepared;
    }
    prepared.outcome = outcome_of([&] {
      OnnxModel model = write_model(graph, prepared.operands);
      prepared.memory = memory_needed(graph, model);
      try_model(model);
      const Session::Settings settings = settings_of(options);
      prepared.variants.assign(graph.layers.size(), variant_text(settings.optimization));
      prepared.program = std::make_unique<SessionProgram>(library_, std::move(model), settings);
    });
    const std::optional<Bytes> available = engine::available_memory();
    if (prepared.outcome.ok() && available && prepared.memory > *available) {
      prepared.program.reset();
      prepared.outcome = {results::Outcome::Kind::kOutOfMemory,
                          fmt::format("the model may need {} bytes of memory, and {} are free",
                                      prepared.memory.value,
                                      available->value)};
    }
    return prepared;
  }

 private:
  /// Returns how sessions of whole models are made.
  [[nodiscard]] Session::Settings settings_of(const worker::Backend::ModelOptions& options) const {
    return session_settings(options.fusion ? optimization_ : Session::Optimization::kOff,
                            options.parallel_branches,
                            true);
  }

  [[nodiscard]] Session::Settings session_settings(Session::Optimization level,
                                                   bool parallel,
                                                   bool profile) const {
    return {level, parallel, share_, profile, {}, provider_};
  }

  /// Lists the levels that execute a layer in different ways, the default first.
  [[nodiscard]] std::vector<Session::Optimization> levels(const model::LayerSpec& spec) const {
    std::vector<Session::Optimization> result{optimization_};
    if (optimization_ == Session::Optimization::kAll && has_blocked_kernels(spec)) {
      result.push_back(Session::Optimization::kExtended);
    }
    return result;
  }

  /// Finds out whether the runtime can execute a layer. Some kernels refuse only when they run.
  void try_layer(const model::LayerSpec& spec) const {
    OnnxModel model = write_layer(spec);
    try_model(model);
    if (model.weight_bytes() > kLargestTrial) {
      return;
    }
    model.bytes = model.with_weights_as_inputs();
    for (OnnxModel::Value& operand : model.operands) {
      operand.type.constant = false;
    }
    SessionProgram program(
        library_, std::move(model), session_settings(Session::Optimization::kOff, false, false));
    program.bind(0, engine::random_operands(spec, 1), false);
    program.enqueue(0);
    program.synchronize();
  }

  /// Finds out whether the runtime can execute a model, without its weights.
  void try_model(const OnnxModel& model) const {
    const Session session(library_,
                          model.with_weights_as_inputs(),
                          session_settings(Session::Optimization::kOff, false, false));
  }

  /// Returns at most how much memory a model needs: its weights in the message, in the session and
  /// prepacked, and every value.
  static Bytes memory_needed(const model::Graph& graph, const OnnxModel& model) {
    Bytes sum{3 * model.weight_bytes().value};
    for (const model::Layer& layer : graph.layers) {
      if (layer.role == model::Layer::Role::kCompute) {
        for (const model::TensorType& output : layer.spec.outputs) {
          sum += model::byte_size(output);
        }
      }
    }
    return sum;
  }

  Library library_;
  int threads_;
  std::optional<int> share_;            // of each lane; absent: there are no lanes
  Session::Optimization optimization_;  // of the mode fusion, and of layers
  std::string provider_;                // before the CPU's; empty: none
  mutable std::unordered_map<model::LayerKey, results::Outcome> supported_;
};

}  // namespace

std::unique_ptr<worker::Backend> make_onnxruntime_backend(
    const std::vector<std::filesystem::path>& libraries, int threads) {
  return std::make_unique<OnnxRuntimeBackend>(libraries, threads);
}

}  // namespace plumb::onnxruntime
