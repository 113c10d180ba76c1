// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <optional>
#include <vector>

#include "harness/analysis/library/engine_preview.hpp"
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

std::vector<PreviewedLayer> read_layers(const std::string& file) {
  std::ifstream in(file);
  std::vector<PreviewedLayer> layers;
  for (std::string line; std::getline(in, line);) {
    const LayerKey key = to_key(parse_key(LayerKey{line}));
    layers.push_back({key, {{"model", 1}}, {key, {}, {}}, {key, {}, {}}});
  }
  if (layers.empty()) {
    throw Error(Error::Kind::kUser, fmt::format("'{}' has no keys", file));
  }
  return layers;
}

json engine_json(const std::optional<EngineConfiguration>& engine) {
  return engine ? json(cuda::engine_text(*engine)) : json(nullptr);
}

}  // namespace

json check_choices(const std::string& cudnn, const std::string& profile, const std::string& keys) {
  std::vector<PreviewedLayer> layers = read_layers(keys);
  const cuda::CudnnLibrary library({cudnn});
  std::string refusal;
  try {
    const cuda::EngineQuery described(library, described_device(profile));
    for (PreviewedLayer& layer : layers) {
      layer.from = described.choices(layer.key);
    }
  } catch (const Error& problem) {
    refusal = problem.what();
  }
  const cuda::Driver driver;
  const cuda::Device device(driver);
  const cuda::DeviceContext context(device);
  context.use();
  const cuda::CudnnHandle handle(library);
  const cuda::EngineQuery present(handle);
  for (PreviewedLayer& layer : layers) {
    layer.to = present.choices(layer.key);
  }
  std::map<std::string, int> counts;
  json rows = json::array();
  for (const EngineComparison& one : preview_engines(layers).comparisons) {
    const bool alike = one.from && one.to && !one.from->plan_digest.empty() &&
                       one.from->plan_digest == one.to->plan_digest;
    ++counts[std::string(to_text(one.change))];
    rows.push_back({{"key", one.key.text},
                    {"layout", one.layout},
                    {"change", to_text(one.change)},
                    {"preview", engine_json(one.from)},
                    {"live", engine_json(one.to)},
                    {"same_plan", alike},
                    {"reason", one.reason}});
  }
  return {{"schema_version", 1},
          {"gpu", device.name()},
          {"cudnn", library.version_number()},
          {"keys", layers.size()},
          {"preview_refusal", refusal},
          {"changes", counts},
          {"rows", std::move(rows)}};
}

}  // namespace plumb::device_checks
