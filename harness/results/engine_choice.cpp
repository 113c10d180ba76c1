// SPDX-License-Identifier: Apache-2.0
#include "harness/results/engine_choice.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "harness/model/key/training_layers.hpp"

namespace plumb::results {
namespace {

bool has(const std::vector<std::string>& notes, std::string_view note) {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

/// Engines that took a gradient of a convolution with uneven pads, and gave wrong numbers: of
/// cuDNN 9.19. None of their notes tells them from right ones.
constexpr std::array<std::int64_t, 1> kWrongForData{50};
constexpr std::array<std::int64_t, 3> kWrongForWeights{1, 18, 20};

/// Returns whether a convolution has other pads at its ends than at its beginnings.
bool has_uneven_pads(const model::LayerSpec& spec) {
  const std::vector<std::int64_t>& pads = spec.integers("pads");
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
  return !std::equal(pads.begin(), middle, middle, pads.end());
}

bool is_wrong_for_uneven_pads(const model::LayerSpec& spec, std::int64_t engine) {
  const std::span<const std::int64_t> wrong = spec.op == "conv_backward_data"
                                                  ? std::span<const std::int64_t>(kWrongForData)
                                                  : std::span<const std::int64_t>(kWrongForWeights);
  return std::find(wrong.begin(), wrong.end(), engine) != wrong.end();
}

}  // namespace

std::string_view known_defect(const model::LayerSpec& spec,
                              const EngineChoices::Configuration& configuration) {
  if (spec.op == "conv_integer" && spec.outputs.at(0).dtype == model::DataType::kS32 &&
      !has(configuration.behaviour_notes, "RUNTIME_COMPILATION")) {
    return "cuDNN's precompiled engines store sums of 8-bit products in 8 bits";
  }
  if (model::is_convolution_gradient(spec) && has_uneven_pads(spec) &&
      is_wrong_for_uneven_pads(spec, configuration.engine)) {
    return "this engine of cuDNN gives wrong gradients where pads are uneven";
  }
  return {};
}

bool keeps_promise(const model::LayerSpec& spec,
                   const EngineChoices::Configuration& configuration) {
  if (!known_defect(spec, configuration).empty()) {
    return false;
  }
  const std::vector<std::string>& notes = configuration.numerical_notes;
  const bool converts =
      has(notes, "DOWN_CONVERT_INPUTS") || has(notes, "REDUCED_PRECISION_REDUCTION");
  const bool rounds_f32 = spec.inputs.at(0) && spec.inputs[0]->dtype == model::DataType::kF32 &&
                          has(notes, "TENSOR_CORE");
  switch (spec.math) {
    case model::LayerSpec::MathClass::kStrict:
      return !converts && !rounds_f32;
    case model::LayerSpec::MathClass::kDeterministic:
      return !converts && !rounds_f32 && !has(notes, "NONDETERMINISTIC");
    case model::LayerSpec::MathClass::kTf32:
      return !converts;
    case model::LayerSpec::MathClass::kDownConvert:
      return true;
  }
  return false;
}

const EngineChoices::Configuration* chosen_engine(const model::LayerSpec& spec,
                                                  const EngineChoices::Offer& offer) {
  for (const std::string_view heuristic : {"A", "FALLBACK"}) {
    for (const EngineChoices::Ranking& ranking : offer.rankings) {
      if (ranking.heuristic != heuristic) {
        continue;
      }
      for (const EngineChoices::Configuration& one : ranking.configurations) {
        if (one.refusal.empty() && keeps_promise(spec, one)) {
          return &one;
        }
      }
    }
  }
  return nullptr;
}

}  // namespace plumb::results
