// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/results/engine_choice.hpp"

namespace plumb::analysis {

/// Number of nodes of a model that are one layer.
struct LayerUse {
  std::string model;
  std::int64_t nodes = 0;
};

/// Layer with the engines that two versions of a library would choose for it.
struct PreviewedLayer {
  model::LayerKey key;
  std::vector<LayerUse> uses;
  results::EngineChoices from;
  results::EngineChoices to;
};

/// Effects of an upgrade on a layer's engine, worst first.
enum class EngineChange {
  kSupportLost,    ///< there was an engine, and there is none now
  kNumerics,       ///< other numerical notes: results may differ
  kKnobs,          ///< another tile, split or pipeline
  kResources,      ///< the same knobs with other workspace, shared memory or behaviour
  kSupportGained,  ///< there was no engine, and there is one now
  kUnknown,        ///< only the engine's number differs, which each version assigns anew
  kNoEngine,       ///< neither version offers an engine that does without the device's driver
  kSame,
};
/// Returns "support_lost", "numerics", "knobs", …
[[nodiscard]] std::string_view to_text(EngineChange change);

/// Comparison of the engines that two versions would choose for one layer in one layout.
struct EngineComparison {
  /// Property that differs between two choices.
  struct Difference {
    std::string what;  ///< a knob, "numerical_notes", "behaviour_notes", "workspace_bytes",
                       ///< "shared_memory_bytes" or "engine"
    std::string from;  ///< "–": it has none
    std::string to;
  };

  model::LayerKey key;
  std::string layout;
  std::vector<LayerUse> uses;
  std::int64_t nodes = 0;  ///< over all models
  EngineChange change = EngineChange::kSame;
  std::optional<results::EngineConfiguration> from;  ///< absent: no engine
  std::optional<results::EngineConfiguration> to;
  std::vector<Difference> differences;
  std::optional<std::size_t> earlier_rank;  ///< of the new choice in the old version's ranking,
                                            ///< counted from 1; absent: it is not there
  std::string reason;                       ///< why there is no engine, in the library's words
};

/// Predicted effects of an upgrade, as far as the library reports them without a device.
struct EnginePreview {
  /// Layers for which the library cannot be queried without a device, by operation and reason.
  struct NotCovered {
    std::string op;
    std::string reason;
    std::int64_t keys = 0;
    std::int64_t nodes = 0;
  };

  std::vector<EngineComparison> comparisons;  ///< worst first, then by nodes, key and layout
  std::vector<NotCovered> not_covered;        ///< by nodes, most first
};

/// Compares what two versions would choose, by layer and layout.
[[nodiscard]] EnginePreview preview_engines(std::span<const PreviewedLayer> layers);

}  // namespace plumb::analysis
