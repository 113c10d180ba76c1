// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/engine_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "harness/base/digest.hpp"
#include "runners/cuda/observe/kernel_attributes.hpp"

namespace plumb::cuda {
namespace {

using Attribute = abi::CudnnCalls::Attribute;
using DescriptorType = abi::CudnnCalls::DescriptorType;
using HeuristicMode = abi::CudnnCalls::HeuristicMode;
using ValueType = abi::CudnnCalls::ValueType;

constexpr std::array<std::string_view, 44> kKnobs{"SPLIT_K",
                                                  "SWIZZLE",
                                                  "TILE_SIZE",
                                                  "USE_TEX",
                                                  "EDGE",
                                                  "KBLOCK",
                                                  "LDGA",
                                                  "LDGB",
                                                  "CHUNK_K",
                                                  "SPLIT_H",
                                                  "WINO_TILE",
                                                  "MULTIPLY",
                                                  "SPLIT_K_BUF",
                                                  "TILEK",
                                                  "STAGES",
                                                  "REDUCTION_MODE",
                                                  "CTA_SPLIT_K_MODE",
                                                  "SPLIT_K_SLC",
                                                  "IDX_MODE",
                                                  "SLICED",
                                                  "SPLIT_RS",
                                                  "SINGLEBUFFER",
                                                  "LDGC",
                                                  "SPECFILT",
                                                  "KERNEL_CFG",
                                                  "WORKSPACE",
                                                  "TILE_CGA",
                                                  "TILE_CGA_M",
                                                  "TILE_CGA_N",
                                                  "BLOCK_SIZE",
                                                  "OCCUPANCY",
                                                  "ARRAY_SIZE_PER_THREAD",
                                                  "NUM_C_PER_BLOCK",
                                                  "SPLIT_COLS",
                                                  "TILE_ROWS",
                                                  "TILE_COLS",
                                                  "LOAD_SIZE",
                                                  "CTA_COUNT",
                                                  "STREAM_K",
                                                  "SPLIT_P_SLC",
                                                  "TILE_M",
                                                  "TILE_N",
                                                  "WARP_SPEC_CFG",
                                                  "SWAP_AB"};
constexpr std::array<std::string_view, 10> kNumericalNotes{"TENSOR_CORE",
                                                           "DOWN_CONVERT_INPUTS",
                                                           "REDUCED_PRECISION_REDUCTION",
                                                           "FFT",
                                                           "NONDETERMINISTIC",
                                                           "WINOGRAD",
                                                           "WINOGRAD_TILE_4x4",
                                                           "WINOGRAD_TILE_6x6",
                                                           "WINOGRAD_TILE_13x13",
                                                           "STRICT_NAN_PROP"};
constexpr std::array<std::string_view, 5> kBehaviourNotes{"RUNTIME_COMPILATION",
                                                          "REQUIRES_FILTER_INT8x32_REORDER",
                                                          "REQUIRES_BIAS_INT8x32_REORDER",
                                                          "SUPPORTS_CUDA_GRAPH_NATIVE_API",
                                                          "CUBLASLT_DEPENDENCY"};
/// Returns the name of an enumerator, or its number if it is newer than this table.
template <std::size_t Size>
std::string name_in(const std::array<std::string_view, Size>& names, int value) {
  const auto index = static_cast<std::size_t>(value);
  return value >= 0 && index < Size ? std::string(names[index]) : fmt::format("#{}", value);
}

template <std::size_t Size>
std::vector<std::string> names_in(const std::array<std::string_view, Size>& names,
                                  const std::vector<int>& values) {
  std::vector<std::string> result;
  result.reserve(values.size());
  for (const int value : values) {
    result.push_back(name_in(names, value));
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// Adds a configuration that is not there yet. One that cannot be read is left out.
void add(std::vector<EngineTarget::Engine>& found,
         std::set<std::string>& known,
         Descriptor configuration,
         bool ranked) {
  try {
    results::EngineChoices::Configuration facts = read_configuration(configuration);
    if (known.insert(engine_text(facts)).second) {
      found.push_back({std::move(facts), std::move(configuration), ranked});
    }
  } catch (const CudnnLibrary::Refusal&) {
    return;  // offered, but not for this graph
  }
}

}  // namespace

results::EngineChoices::Configuration read_configuration(const Descriptor& configuration) {
  results::EngineChoices::Configuration result;
  const std::vector<Descriptor> engine =
      configuration.descriptors(Attribute::kConfigurationEngine, DescriptorType::kEngine);
  if (!engine.empty()) {
    result.engine = engine[0].integer(Attribute::kEngineIndex);
    result.numerical_notes = names_in(
        kNumericalNotes,
        engine[0].enumerators(Attribute::kEngineNumericalNotes, ValueType::kNumericalNote));
    result.behaviour_notes = names_in(
        kBehaviourNotes,
        engine[0].enumerators(Attribute::kEngineBehaviourNotes, ValueType::kBehaviourNote));
  }
  for (const Descriptor& knob : configuration.descriptors(
           Attribute::kConfigurationKnobChoices, DescriptorType::kKnobChoice, kKnobs.size())) {
    const int type = knob.enumerator(Attribute::kKnobChoiceType, ValueType::kKnobType);
    result.knobs[name_in(kKnobs, type)] = knob.integer(Attribute::kKnobChoiceValue);
  }
  result.workspace = Bytes{configuration.integer(Attribute::kConfigurationWorkspace)};
  if (const auto bytes = configuration.small_integer(Attribute::kConfigurationSharedMemory)) {
    result.shared_memory = Bytes{*bytes};
  }
  return result;
}

std::vector<Descriptor> ask_heuristic(const CudnnLibrary& library,
                                      const Descriptor& graph,
                                      HeuristicMode mode,
                                      const EngineTarget& target) {
  Descriptor heuristic(library, DescriptorType::kEngineHeuristic);
  heuristic.set(Attribute::kHeuristicOperationGraph, graph);
  heuristic.set_enumerator(
      Attribute::kHeuristicMode, ValueType::kHeuristicMode, static_cast<int>(mode));
  if (target.properties != nullptr) {
    heuristic.set(Attribute::kHeuristicDevice, *target.properties);
  }
  heuristic.finish("a heuristic");
  return heuristic.descriptors(Attribute::kHeuristicResults, DescriptorType::kEngineConfiguration);
}

std::vector<EngineTarget::Engine> find_engines(const CudnnLibrary& library,
                                               const OperationGraph& graph,
                                               const EngineTarget& target) {
  std::vector<EngineTarget::Engine> found;
  std::set<std::string> known;
  for (const HeuristicMode mode :
       {HeuristicMode::kA, HeuristicMode::kB, HeuristicMode::kFallback}) {
    try {
      for (Descriptor& one : ask_heuristic(library, graph.graph, mode, target)) {
        add(found, known, std::move(one), true);
      }
    } catch (const CudnnLibrary::Refusal&) {
      continue;  // another heuristic may answer
    }
  }
  const std::int64_t engines = graph.graph.integer(Attribute::kGraphEngineCount);
  for (std::int64_t number = 0; number < engines; ++number) {
    try {
      Descriptor engine(library, DescriptorType::kEngine);
      engine.set(Attribute::kEngineOperationGraph, graph.graph);
      engine.set(Attribute::kEngineIndex, number);
      if (target.properties != nullptr) {
        engine.set(Attribute::kEngineDevice, *target.properties);
      }
      engine.finish("an engine");
      Descriptor configuration(library, DescriptorType::kEngineConfiguration);
      configuration.set(Attribute::kConfigurationEngine, engine);
      configuration.finish("an engine with its default knobs");
      add(found, known, std::move(configuration), false);
    } catch (const CudnnLibrary::Refusal&) {
      continue;  // does not apply to this graph or GPU
    }
  }
  return found;
}

Descriptor execution_plan(const CudnnLibrary& library,
                          const Descriptor& configuration,
                          const EngineTarget& target) {
  Descriptor plan(library, DescriptorType::kExecutionPlan);
  plan.set(Attribute::kPlanConfiguration, configuration);
  if (target.properties != nullptr) {
    plan.set(Attribute::kPlanDevice, *target.properties);
  } else {
    plan.set_handle(Attribute::kPlanHandle, target.handle);
  }
  plan.finish("a plan");
  return plan;
}

std::string engine_text(const results::EngineChoices::Configuration& configuration) {
  std::string text = fmt::format("engine={}", configuration.engine);
  for (const auto& [name, value] : configuration.knobs) {
    text += fmt::format(";{}={}", name, value);
  }
  return text;
}

results::Attributes engine_attributes(const results::EngineChoices::Configuration& configuration) {
  results::Attributes result = tensor_core_attributes(
      {.product_flags = {}, .engine_notes = configuration.numerical_notes, .kernels = {}});
  result["engine"] = fmt::format("{}", configuration.engine);
  std::string knobs;
  for (const auto& [name, value] : configuration.knobs) {
    knobs += fmt::format("{}{}={}", knobs.empty() ? "" : ";", name, value);
  }
  result["knobs"] = knobs;
  result["numerical_notes"] = fmt::format("{}", fmt::join(configuration.numerical_notes, ","));
  result["behaviour_notes"] = fmt::format("{}", fmt::join(configuration.behaviour_notes, ","));
  if (configuration.shared_memory) {
    result["shared_memory_bytes"] = fmt::format("{}", configuration.shared_memory->value);
  }
  return result;
}

void add_plan(results::Attributes& attributes, const Descriptor& plan) {
  std::string text;
  try {
    text = plan.text(Attribute::kPlanJson);
  } catch (const CudnnLibrary::Refusal& refusal) {
    attributes["plan_missing"] = refusal.what();
    return;
  }
  if (text.size() > kLongestPlan) {
    attributes["plan_bytes"] = fmt::format("{}", text.size());
  } else {
    attributes["plan"] = std::move(text);
  }
}

std::string plan_digest(const std::string& plan) {
  nlohmann::json document = nlohmann::json::parse(plan, nullptr, false);
  if (!document.is_object()) {
    return sha256(plan);
  }
  document.erase("GPUProfile");
  return sha256(document.dump());
}

}  // namespace plumb::cuda
