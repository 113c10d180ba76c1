// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/results/engine_choice.hpp"
#include "runners/cuda/dnn/descriptor.hpp"
#include "runners/cuda/dnn/operation_graph.hpp"

namespace plumb::cuda {

/// GPU for which engines are searched: one described by properties, or the handle's.
struct EngineTarget {
  const Descriptor* properties = nullptr;  ///< null: the handle's
  abi::CudnnHandle handle = nullptr;
};

/// Engine with its knobs, as cuDNN offers it to execute a graph.
struct FoundEngine {
  results::EngineConfiguration facts;
  Descriptor configuration;
  bool ranked = false;  ///< by a heuristic; else found by the engine's number
};

/// Reads the engine, knobs, notes and memory of a configuration. Throws CudnnRefusal.
[[nodiscard]] results::EngineConfiguration read_configuration(const Descriptor& configuration);

/// Lists the configurations that one heuristic gives, best first. Throws CudnnRefusal.
[[nodiscard]] std::vector<Descriptor> ask_heuristic(const CudnnLibrary& library,
                                                    const Descriptor& graph,
                                                    abi::HeuristicMode mode,
                                                    const EngineTarget& target);

/// Lists all engines that cuDNN has for a graph. Heuristic A's list stands first, best first. Then
/// follows what B and FALLBACK add, then every engine that applies, with default knobs. Each engine
/// with the same knobs is listed once, and what refuses is left out. Throws CudnnRefusal if the
/// graph itself is refused.
[[nodiscard]] std::vector<FoundEngine> find_engines(const CudnnLibrary& library,
                                                    const OperationGraph& graph,
                                                    const EngineTarget& target);

/// Makes the plan of a configuration. Throws CudnnRefusal.
[[nodiscard]] Descriptor execution_plan(const CudnnLibrary& library,
                                        const Descriptor& configuration,
                                        const EngineTarget& target);

/// Returns an engine and its knobs as a variant's name has them: "engine=41;TILE_SIZE=5".
[[nodiscard]] std::string engine_text(const results::EngineConfiguration& configuration);

}  // namespace plumb::cuda
