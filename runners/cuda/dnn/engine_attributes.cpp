// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/engine_attributes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "harness/base/digest.hpp"
#include "runners/cuda/observe/tensor_core_use.hpp"

namespace plumb::cuda {

results::Attributes engine_attributes(const results::EngineConfiguration& configuration) {
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
    text = plan.text(abi::Attribute::kPlanJson);
  } catch (const CudnnRefusal& refusal) {
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
