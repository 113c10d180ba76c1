// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/engine_choice.hpp"

namespace plumb::analysis {

/// Predicted effects of an upgrade, as far as the library reports them without a device.
struct EnginePreview {
  /// Number of nodes of a model that are one layer.
  struct Use {
    std::string model;
    std::int64_t nodes = 0;
  };

  /// Layer with the engines that two versions of a library would choose for it.
  struct Layer {
    model::LayerKey key;
    std::vector<Use> uses;
    results::EngineChoices from;
    results::EngineChoices to;
  };

  /// Effects of an upgrade on a layer's engine, worst first.
  enum class Change {
    kSupportLost,    ///< there was an engine, and there is none now
    kNumerics,       ///< other numerical notes: results may differ
    kKnobs,          ///< another tile, split or pipeline
    kResources,      ///< the same knobs with other workspace, shared memory or behaviour
    kSupportGained,  ///< there was no engine, and there is one now
    kUnknown,        ///< only the engine's number differs, which each version assigns anew
    kNoEngine,       ///< neither version offers an engine that does without the device's driver
    kSame,
  };

  /// Comparison of the engines that two versions would choose for one layer in one layout.
  struct Comparison {
    /// Property that differs between two choices.
    struct Difference {
      std::string what;  ///< a knob, "numerical_notes", "behaviour_notes", "workspace_bytes",
                         ///< "shared_memory_bytes" or "engine"
      std::string from;  ///< "–": it has none
      std::string to;
    };

    model::LayerKey key;
    std::string layout;
    std::vector<Use> uses;
    std::int64_t nodes = 0;  ///< over all models
    Change change = Change::kSame;
    std::optional<results::EngineChoices::Configuration> from;  ///< absent: no engine
    std::optional<results::EngineChoices::Configuration> to;
    std::vector<Difference> differences;
    std::optional<std::size_t> earlier_rank;  ///< of the new choice in the old version's ranking,
                                              ///< counted from 1; absent: it is not there
    std::string reason;                       ///< why there is no engine, in the library's words
  };

  /// Layers for which the library cannot be queried without a device, by operation and reason.
  struct NotCovered {
    std::string op;
    std::string reason;
    std::int64_t keys = 0;
    std::int64_t nodes = 0;
  };

  std::vector<Comparison> comparisons;  ///< worst first, then by nodes, key and layout
  std::vector<NotCovered> not_covered;  ///< by nodes, most first
};

/// Returns "support_lost", "numerics", "knobs", …
[[nodiscard]] std::string_view to_text(EnginePreview::Change change);

/// Compares what two versions would choose, by layer and layout.
[[nodiscard]] EnginePreview preview_engines(std::span<const EnginePreview::Layer> layers);

/// Differences between two stacks before anything is measured. Names of implementations are the
/// libraries' own and not stable over versions: another name need not be another kernel.
struct StackDifference {
  /// Contents of a stack: its libraries, and what they offer for layers.
  struct Contents {
    /// Library file of a stack, and the symbols that it exports.
    struct Library {
      std::string name;     ///< file name without what follows ".so": "libdnnl"
      std::string version;  ///< as the library says; empty: unknown
      std::string path;
      std::string sha256;
      Bytes size;
      std::vector<std::string> symbols;  ///< sorted
    };

    /// Variants that a stack offers for a layer, in the library's own order.
    struct LayerOffers {
      model::LayerKey key;
      std::vector<std::string> variants;  ///< the first is the library's choice; none: unsupported
      bool reference_only = false;        ///< nothing but the slow reference implementation
    };

    std::string name;
    std::vector<Library> libraries;
    std::vector<LayerOffers> layers;
    std::vector<results::EngineChoices> choices;  ///< on a described device
  };

  /// Number of variants and choices of two stacks for the layers of one kind.
  struct Kind {
    std::size_t layers = 0;
    std::size_t unsupported_from = 0;
    std::size_t unsupported_to = 0;
    std::size_t variants_from = 0;  ///< over all layers
    std::size_t variants_to = 0;
    std::size_t other_choice = 0;  ///< layers for which the library chooses another variant
  };

  /// Engines that two versions would offer for the layers of one kind on a described device. Summed
  /// over layers and layouts.
  struct EngineCounts {
    std::size_t asked = 0;  ///< layers × layouts
    std::size_t without_engine_from = 0;
    std::size_t without_engine_to = 0;
    std::size_t engines_from = 0;
    std::size_t engines_to = 0;
    /// Number of configurations that each offers, from and to, by heuristic ("A", "FALLBACK").
    std::map<std::string, std::pair<std::size_t, std::size_t>> offers;
  };

  /// Layer that two stacks treat differently.
  struct Layer {
    model::LayerKey key;
    std::string from_choice;  ///< empty: unsupported
    std::string to_choice;    ///< empty: unsupported
    bool fell_back = false;   ///< only the reference implementation is left
    std::vector<std::string> added;
    std::vector<std::string> removed;
    /// Reasons why one stack did not use implementations that only the other has, by
    /// implementation, in the library's words. Empty: not queried, or the library gives none.
    std::map<std::string, std::string> passed_over_by_from;
    std::map<std::string, std::string> passed_over_by_to;
  };

  /// Library that one of two stacks has, or both in different files.
  struct Library {
    std::optional<Contents::Library> from;  ///< absent: added
    std::optional<Contents::Library> to;    ///< absent: removed
    std::vector<std::string> symbols_added;
    std::vector<std::string> symbols_removed;
  };

  std::string from;
  std::string to;
  std::size_t same_libraries = 0;  ///< the same bytes in both
  std::vector<Library> libraries;
  std::map<std::string, Kind> kinds;            ///< "conv", …
  std::vector<Layer> layers;                    ///< lost support first, then other choices
  std::map<std::string, EngineCounts> engines;  ///< "conv", …; what cannot be asked is left out
};

/// Compares two stacks by name of library and by key. A key that only one of them was queried for
/// is left out. Pure.
[[nodiscard]] StackDifference stack_difference(const StackDifference::Contents& from,
                                               const StackDifference::Contents& to);

/// Stack as it was found: by its file, or by a worker that ran with it.
struct StackReport {
  /// One library file of a stack.
  struct Library {
    std::string name;     ///< file name without what follows ".so": "libdnnl"
    std::string version;  ///< as the library says; empty: unknown
    std::string path;
    std::string sha256;  ///< empty: not read
  };

  std::string name;
  std::string backend;
  std::vector<Library> libraries;
  std::string device;                 ///< empty: the CPU
  std::vector<std::string> problems;  ///< none: the stack is sound
};

}  // namespace plumb::analysis
