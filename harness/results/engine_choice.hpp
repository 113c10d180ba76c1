// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::results {

/// Choices that a library would make for a layer on a described device.
struct EngineChoices {
  /// One way in which a library would execute a layer on a device, which need not be present.
  struct Configuration {
    std::int64_t engine =
        0;  ///< a number that means something in one version, for one kind of layer
    std::map<std::string, std::int64_t>
        knobs;  ///< "TILE_SIZE": 5; values mean something for an engine
    std::vector<std::string> numerical_notes;  ///< "TENSOR_CORE", ascending
    std::vector<std::string> behaviour_notes;  ///< "RUNTIME_COMPILATION", ascending
    std::optional<Bytes> workspace;
    std::optional<Bytes> shared_memory;
    std::string plan_digest;  ///< SHA-256 of the plan's own text; empty: no plan, or no text of it
    std::string refusal;      ///< why there is no plan, in the library's words

    bool operator==(const Configuration&) const = default;
  };

  /// Configurations that one heuristic of the library offers, best first.
  struct Ranking {
    std::string
        heuristic;  ///< "A"; "FALLBACK": asked where A offers nothing for the layer's promise
    std::vector<Configuration> configurations;
    std::string refusal;  ///< why there are none, in the library's words

    bool operator==(const Ranking&) const = default;
  };

  /// Rankings that a library offers for a layer with operands in one layout.
  struct Offer {
    std::string layout;                   ///< "NCHW" or "NHWC", of input, weights and output
    std::optional<std::int64_t> engines;  ///< that the version has for this kind of layer
    std::vector<Ranking> rankings;
    std::string refusal;  ///< why the library was not, or could not be, asked; in its words

    bool operator==(const Offer&) const = default;
  };

  model::LayerKey key;
  Outcome outcome;  ///< kUnsupported: the layer cannot be asked for without the device
  std::vector<Offer> offers;

  bool operator==(const EngineChoices&) const = default;
};

/// Returns in which way a configuration is known to compute the layer wrongly; empty: in none.
/// cuDNN offers such engines and refuses none of them. Seen with cuDNN 9.19 on an H200
/// (docs/results/2026-11-26-first-gpu.md).
[[nodiscard]] std::string_view known_defect(const model::LayerSpec& spec,
                                            const EngineChoices::Configuration& configuration);

/// Returns whether a configuration computes as exactly as the layer promises. Its numerical notes
/// decide: f32 strict excludes tensor cores and conversion down. So do known defects.
[[nodiscard]] bool keeps_promise(const model::LayerSpec& spec,
                                 const EngineChoices::Configuration& configuration);

/// Returns the plan of a program that requests only the layer's promise of precision. It is the
/// first plan of heuristic A, then of FALLBACK, whose numerical notes keep the promise. Null if
/// there is none.
[[nodiscard]] const EngineChoices::Configuration* chosen_engine(const model::LayerSpec& spec,
                                                                const EngineChoices::Offer& offer);

}  // namespace plumb::results
