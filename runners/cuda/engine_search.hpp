// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/results/engine_choice.hpp"
#include "runners/cuda/descriptor.hpp"
#include "runners/cuda/operation_graph.hpp"

namespace plumb::cuda {

/// GPU for which cuDNN is asked: one described by properties, or the handle's.
struct EngineTarget {
  const Descriptor* properties = nullptr;  ///< null: the handle's
  abi::CudnnHandle handle = nullptr;
};

/// Engine with its knobs, as cuDNN offers it to execute a graph.
struct FoundEngine {
  EngineConfiguration facts;
  Descriptor configuration;
  bool ranked = false;  ///< by a heuristic; else the engine was asked by its number
};

/// Reads what a configuration is. Throws CudnnRefusal.
[[nodiscard]] EngineConfiguration read_configuration(const Descriptor& configuration);

/// Asks one heuristic, best first. Throws CudnnRefusal.
[[nodiscard]] std::vector<Descriptor> ask_heuristic(const CudnnLibrary& library,
                                                    const Descriptor& graph,
                                                    abi::HeuristicMode mode,
                                                    const EngineTarget& target);

/// Lists all that cuDNN offers for a graph: heuristic A's list, best first, then what B and
/// FALLBACK have beside it, then every engine that applies, with default knobs; each engine with
/// the same knobs once. What refuses is left out. Throws CudnnRefusal if the graph itself is
/// refused.
[[nodiscard]] std::vector<FoundEngine> find_engines(const CudnnLibrary& library,
                                                    const OperationGraph& graph,
                                                    const EngineTarget& target);

/// Makes the plan of a configuration. Throws CudnnRefusal.
[[nodiscard]] Descriptor execution_plan(const CudnnLibrary& library,
                                        const Descriptor& configuration,
                                        const EngineTarget& target);

/// Writes an engine and its knobs as a variant has them: "engine=41;TILE_SIZE=5".
[[nodiscard]] std::string engine_text(const EngineConfiguration& configuration);

}  // namespace plumb::cuda
