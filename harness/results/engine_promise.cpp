// SPDX-License-Identifier: Apache-2.0
#include "harness/results/engine_promise.hpp"

#include <algorithm>
#include <string_view>

namespace plumb::results {
namespace {

bool has(const std::vector<std::string>& notes, std::string_view note) {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

}  // namespace

bool keeps_promise(const model::LayerSpec& spec, const EngineConfiguration& configuration) {
  const std::vector<std::string>& notes = configuration.numerical_notes;
  const bool converts =
      has(notes, "DOWN_CONVERT_INPUTS") || has(notes, "REDUCED_PRECISION_REDUCTION");
  const bool rounds_f32 = spec.inputs.at(0) && spec.inputs[0]->dtype == model::DataType::kF32 &&
                          has(notes, "TENSOR_CORE");
  switch (spec.math) {
    case model::MathClass::kStrict:
      return !converts && !rounds_f32;
    case model::MathClass::kDeterministic:
      return !converts && !rounds_f32 && !has(notes, "NONDETERMINISTIC");
    case model::MathClass::kTf32:
      return !converts;
    case model::MathClass::kDownConvert:
      return true;
  }
  return false;
}

const EngineConfiguration* chosen_engine(const model::LayerSpec& spec, const EngineOffer& offer) {
  for (const std::string_view heuristic : {"A", "FALLBACK"}) {
    for (const EngineRanking& ranking : offer.rankings) {
      if (ranking.heuristic != heuristic) {
        continue;
      }
      for (const EngineConfiguration& one : ranking.configurations) {
        if (one.refusal.empty() && keeps_promise(spec, one)) {
          return &one;
        }
      }
    }
  }
  return nullptr;
}

}  // namespace plumb::results
