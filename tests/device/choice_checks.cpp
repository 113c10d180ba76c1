// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/results/engine_choice.hpp"
#include "runners/cuda/dnn/engine_query.hpp"
#include "runners/cuda/driver/device.hpp"
#include "tests/device/gpu_checks.hpp"

namespace plumb::device_checks {
namespace {

using nlohmann::json;

/// Takes the inner object of a profile, as `plumb preview` does.
std::string described_device(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const json profile = json::parse(in, nullptr, false);
  if (!profile.is_object()) {
    throw Error(Error::Kind::kUser, fmt::format("'{}' is no GPU profile", file));
  }
  return profile.value("properties", profile).dump();
}

std::vector<model::LayerKey> read_keys(const std::string& file) {
  std::ifstream in(file);
  std::vector<model::LayerKey> keys;
  for (std::string line; std::getline(in, line);) {
    keys.push_back(model::to_key(model::parse_key(model::LayerKey{line})));
  }
  if (keys.empty()) {
    throw Error(Error::Kind::kUser, fmt::format("'{}' has no keys", file));
  }
  return keys;
}

/// Finds what a program that asks for the layer's promise only would take. Null: no engine.
const results::EngineChoices::Configuration* choice_of(const results::EngineChoices& choices,
                                                       const std::string& layout) {
  for (const results::EngineChoices::Offer& offer : choices.offers) {
    if (offer.layout == layout) {
      return results::chosen_engine(model::parse_key(choices.key), offer);
    }
  }
  return nullptr;
}

json engine_json(const results::EngineChoices::Configuration* engine) {
  return engine != nullptr ? json(cuda::engine_text(*engine)) : json(nullptr);
}

}  // namespace

json check_choices(const std::string& cudnn,
                   const std::string& profile,
                   const std::string& file,
                   Seconds limit) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<model::LayerKey> keys = read_keys(file);
  const cuda::CudnnLibrary library({cudnn});
  std::optional<cuda::EngineQuery> described;
  std::string refusal;
  try {
    described.emplace(library, described_device(profile));
  } catch (const Error& problem) {
    refusal = problem.what();
  }
  const cuda::Driver driver;
  const cuda::Device device(driver);
  const cuda::Device::Context context(device);
  context.use();
  const cuda::CudnnLibrary::Handle handle(library);
  const cuda::EngineQuery present(handle);
  json rows = json::array();
  std::size_t asked = 0;
  for (const model::LayerKey& key : keys) {
    if (Seconds(std::chrono::steady_clock::now() - begin) > limit) {
      break;
    }
    ++asked;
    const results::EngineChoices here =
        present.choices(key, cuda::EngineQuery::Depth::kToFirstChoice);
    const results::EngineChoices there =
        described ? described->choices(key, cuda::EngineQuery::Depth::kToFirstChoice)
                  : results::EngineChoices{key, {}, {}};
    for (const results::EngineChoices::Offer& offer : here.offers) {
      const results::EngineChoices::Configuration* const live = choice_of(here, offer.layout);
      const results::EngineChoices::Configuration* const preview = choice_of(there, offer.layout);
      const bool alike = live != nullptr && preview != nullptr && !live->plan_digest.empty() &&
                         live->plan_digest == preview->plan_digest;
      rows.push_back({{"key", key.text},
                      {"layout", offer.layout},
                      {"live", engine_json(live)},
                      {"preview", engine_json(preview)},
                      {"same_plan", alike},
                      {"refusal", offer.refusal}});
    }
  }
  return {{"schema_version", 1},
          {"gpu", device.name()},
          {"cudnn", library.version_number()},
          {"keys", keys.size()},
          {"asked", asked},
          {"preview_refusal", refusal},
          {"rows", std::move(rows)}};
}

}  // namespace plumb::device_checks
