// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/engine_query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "runners/cuda/operation_graph.hpp"

namespace plumb::cuda {
namespace {

using abi::Attribute;
using abi::DescriptorType;
using abi::ValueType;

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
/// Names an enumerator; one that is newer than this table by its number.
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

Descriptor device_properties(const CudnnLibrary& library, const std::string& json) {
  try {
    Descriptor result(library, DescriptorType::kDeviceProperties);
    result.set_text(Attribute::kDeviceJson, json);
    result.finish("the description of a device");
    return result;
  } catch (const CudnnRefusal& refusal) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("cuDNN does not take the device's description ({}): compare it with one "
                    "of the profiles that come with this program",
                    refusal.what()));
  }
}

}  // namespace

EngineQuery::EngineQuery(const CudnnLibrary& library, std::string device)
    : library_(library),
      device_(std::move(device)),
      properties_(device_properties(library, device_)) {}

EngineChoices EngineQuery::choices(const LayerKey& key) const {
  EngineChoices result{.key = key, .outcome = {}, .offers = {}};
  const LayerSpec spec = parse_key(key);
  for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
    const TranslatedLayer layer = convolution_graph(spec, layout);
    if (!layer.graph) {
      result.outcome = {Outcome::Kind::kUnsupported, layer.why_not};
      result.offers.clear();
      return result;
    }
    result.offers.push_back(offer(spec, *layer.graph));
    result.offers.back().layout = to_text(layout);
  }
  return result;
}

EngineOffer EngineQuery::offer(const LayerSpec& spec, const ConvolutionGraph& graph) const {
  EngineOffer result;
  try {
    const OperationGraph operations = operation_graph(library_, graph);
    result.engines = operations.graph.integer(Attribute::kGraphEngineCount);
    result.rankings.push_back(ranking(operations.graph, "A", abi::HeuristicMode::kA));
    // It takes ten times as long as A, and is what nobody asks whom A gave something.
    if (chosen_engine(spec, result) == nullptr) {
      result.rankings.push_back(
          ranking(operations.graph, "FALLBACK", abi::HeuristicMode::kFallback));
    }
  } catch (const CudnnRefusal& refusal) {
    result.refusal = refusal.what();
  }
  return result;
}

EngineRanking EngineQuery::ranking(const Descriptor& operations,
                                   const char* name,
                                   abi::HeuristicMode mode) const {
  EngineRanking result{.heuristic = name, .configurations = {}, .refusal = {}};
  try {
    Descriptor heuristic(library_, DescriptorType::kEngineHeuristic);
    heuristic.set(Attribute::kHeuristicOperationGraph, operations);
    heuristic.set_enumerator(
        Attribute::kHeuristicMode, ValueType::kHeuristicMode, static_cast<int>(mode));
    heuristic.set(Attribute::kHeuristicDevice, properties_);
    heuristic.finish("a heuristic");
    for (const Descriptor& one : heuristic.descriptors(Attribute::kHeuristicResults,
                                                       DescriptorType::kEngineConfiguration)) {
      result.configurations.push_back(configuration(one));
    }
  } catch (const CudnnRefusal& refusal) {
    result.refusal = refusal.what();
  }
  return result;
}

EngineConfiguration EngineQuery::configuration(const Descriptor& descriptor) const {
  EngineConfiguration result;
  try {
    const std::vector<Descriptor> engine =
        descriptor.descriptors(Attribute::kConfigurationEngine, DescriptorType::kEngine);
    if (!engine.empty()) {
      result.engine = engine[0].integer(Attribute::kEngineIndex);
      result.numerical_notes = names_in(
          kNumericalNotes,
          engine[0].enumerators(Attribute::kEngineNumericalNotes, ValueType::kNumericalNote));
      result.behaviour_notes = names_in(
          kBehaviourNotes,
          engine[0].enumerators(Attribute::kEngineBehaviourNotes, ValueType::kBehaviourNote));
    }
    for (const Descriptor& knob : descriptor.descriptors(
             Attribute::kConfigurationKnobChoices, DescriptorType::kKnobChoice, kKnobs.size())) {
      const int type = knob.enumerator(Attribute::kKnobChoiceType, ValueType::kKnobType);
      result.knobs[name_in(kKnobs, type)] = knob.integer(Attribute::kKnobChoiceValue);
    }
    result.workspace = Bytes{descriptor.integer(Attribute::kConfigurationWorkspace)};
    if (const auto bytes = descriptor.small_integer(Attribute::kConfigurationSharedMemory)) {
      result.shared_memory = Bytes{*bytes};
    }
    Descriptor plan(library_, DescriptorType::kExecutionPlan);
    plan.set(Attribute::kPlanConfiguration, descriptor);
    plan.set(Attribute::kPlanDevice, properties_);
    plan.finish("a plan");
    result.plan_digest = sha256(plan.text(Attribute::kPlanJson));
  } catch (const CudnnRefusal& refusal) {
    result.refusal = refusal.what();
  }
  return result;
}

}  // namespace plumb::cuda
