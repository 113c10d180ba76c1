// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/results/engine_choice.hpp"
#include "harness/results/measurement.hpp"
#include "runners/cuda/dnn/operation_graph.hpp"

namespace plumb::cuda {

/// GPU for which engines are searched: one described by properties, or the handle's.
struct EngineTarget {
  /// Engine with its knobs, as cuDNN offers it to execute a graph.
  struct Engine {
    results::EngineChoices::Configuration facts;
    Descriptor configuration;
    bool ranked = false;  ///< by a heuristic; else found by the engine's number
  };

  const Descriptor* properties = nullptr;  ///< null: the handle's
  abi::DnnHandle handle = nullptr;
};

/// Reads the engine, knobs, notes and memory of a configuration. Throws CudnnLibrary::Refusal.
[[nodiscard]] results::EngineChoices::Configuration read_configuration(
    const Descriptor& configuration);

/// Lists the configurations that one heuristic gives, best first. Throws CudnnLibrary::Refusal.
[[nodiscard]] std::vector<Descriptor> ask_heuristic(const CudnnLibrary& library,
                                                    const Descriptor& graph,
                                                    abi::CudnnCalls::HeuristicMode mode,
                                                    const EngineTarget& target);

/// Lists all engines that cuDNN has for a graph. Heuristic A's list stands first, best first. Then
/// follows what B and FALLBACK add, then every engine that applies, with default knobs. Each engine
/// with the same knobs is listed once, and what refuses is left out. Throws CudnnLibrary::Refusal
/// if the graph itself is refused.
[[nodiscard]] std::vector<EngineTarget::Engine> find_engines(const CudnnLibrary& library,
                                                             const OperationGraph& graph,
                                                             const EngineTarget& target);

/// Makes the plan of a configuration. Throws CudnnLibrary::Refusal.
[[nodiscard]] Descriptor execution_plan(const CudnnLibrary& library,
                                        const Descriptor& configuration,
                                        const EngineTarget& target);

/// Returns an engine and its knobs as a variant's name has them: "engine=41;TILE_SIZE=5".
[[nodiscard]] std::string engine_text(const results::EngineChoices::Configuration& configuration);

/// Returns the attributes of an engine with its knobs. They are "engine", "knobs",
/// "numerical_notes", "behaviour_notes", "shared_memory_bytes" and whether it uses tensor cores.
[[nodiscard]] results::Attributes engine_attributes(
    const results::EngineChoices::Configuration& configuration);

/// Adds the attributes of an engine's finished plan. "plan" is cuDNN's own JSON of graph, device,
/// engine and knobs. A plan that is longer than kLongestPlan is left out, and "plan_bytes" says how
/// long it was. If cuDNN refuses the plan's JSON, "plan_missing" says why.
void add_plan(results::Attributes& attributes, const Descriptor& plan);
inline constexpr std::size_t kLongestPlan = std::size_t{32} << 10;

/// Returns the SHA-256 of a plan's JSON, without the device that it describes. Devices of one type
/// differ in their memory and in their place on the bus, which makes no other plan.
[[nodiscard]] std::string plan_digest(const std::string& plan);

}  // namespace plumb::cuda
