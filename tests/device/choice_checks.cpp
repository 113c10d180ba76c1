// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <vector>

#include "harness/base/error.hpp"
#include "runners/cuda/dnn/engine_query.hpp"
#include "runners/cuda/driver/device_context.hpp"
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

std::vector<LayerKey> read_keys(const std::string& file) {
  std::ifstream in(file);
  std::vector<LayerKey> keys;
  for (std::string line; std::getline(in, line);) {
    keys.push_back(to_key(parse_key(LayerKey{line})));
  }
  if (keys.empty()) {
    throw Error(Error::Kind::kUser, fmt::format("'{}' has no keys", file));
  }
  return keys;
}

/// Finds what a program that asks for the layer's promise only would take. Null: no engine.
const EngineConfiguration* choice_of(const EngineChoices& choices, const std::string& layout) {
  for (const EngineOffer& offer : choices.offers) {
    if (offer.layout == layout) {
      return chosen_engine(parse_key(choices.key), offer);
    }
  }
  return nullptr;
}

json engine_json(const EngineConfiguration* engine) {
  return engine != nullptr ? json(cuda::engine_text(*engine)) : json(nullptr);
}

}  // namespace

json check_choices(const std::string& cudnn,
                   const std::string& profile,
                   const std::string& file,
                   Seconds limit) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<LayerKey> keys = read_keys(file);
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
  const cuda::DeviceContext context(device);
  context.use();
  const cuda::CudnnHandle handle(library);
  const cuda::EngineQuery present(handle);
  json rows = json::array();
  std::size_t asked = 0;
  for (const LayerKey& key : keys) {
    if (Seconds(std::chrono::steady_clock::now() - begin) > limit) {
      break;
    }
    ++asked;
    const EngineChoices here = present.choices(key, cuda::RankingDepth::kToFirstChoice);
    const EngineChoices there = described
                                    ? described->choices(key, cuda::RankingDepth::kToFirstChoice)
                                    : EngineChoices{key, {}, {}};
    for (const EngineOffer& offer : here.offers) {
      const EngineConfiguration* const live = choice_of(here, offer.layout);
      const EngineConfiguration* const preview = choice_of(there, offer.layout);
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
