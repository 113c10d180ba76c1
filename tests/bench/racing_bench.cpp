// SPDX-License-Identifier: Apache-2.0
//
// What racing variants saves, and whether it finds the same winner: convolutions of ResNet-50,
// MobileNet-v2 and VGG-16 through oneDNN, one thread, in the cache modes of a run (hot, and with
// cold weights); each key raced, and each of its variants measured in full (reference
// implementations left out of both). The winner is the fastest hot; where the two differ they are
// measured again in turn, seven times, and the median ratio counts. Limits: five times cheaper; the
// raced winner within 1% of the best in 95% of the keys. Prints both; exits 1 if one is missed.
// Wants a quiet machine.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/engine/service/backend_service.hpp"
#include "runners/onednn/library_loader.hpp"

namespace plumb::engine {
namespace {

struct Shape {
  std::int64_t channels, extent, filters, kernel, stride, group;
};

// Every different convolution of ResNet-50 v1 (without its three largest), and some of MobileNet-v2
// and VGG-16.
constexpr Shape kShapes[] = {
    {3, 224, 64, 7, 2, 1},     {64, 56, 64, 1, 1, 1},     {64, 56, 64, 3, 1, 1},
    {64, 56, 256, 1, 1, 1},    {256, 56, 64, 1, 1, 1},    {256, 56, 128, 1, 2, 1},
    {128, 28, 128, 3, 1, 1},   {128, 28, 512, 1, 1, 1},   {256, 56, 512, 1, 2, 1},
    {512, 28, 128, 1, 1, 1},   {512, 28, 256, 1, 2, 1},   {256, 14, 256, 3, 1, 1},
    {256, 14, 1024, 1, 1, 1},  {512, 28, 1024, 1, 2, 1},  {1024, 14, 256, 1, 1, 1},
    {1024, 14, 512, 1, 2, 1},  {512, 7, 512, 3, 1, 1},    {512, 7, 2048, 1, 1, 1},
    {1024, 14, 2048, 1, 2, 1}, {2048, 7, 512, 1, 1, 1},   {3, 224, 32, 3, 2, 1},
    {32, 112, 32, 3, 1, 32},   {32, 112, 16, 1, 1, 1},    {16, 112, 96, 1, 1, 1},
    {96, 112, 96, 3, 2, 96},   {144, 56, 144, 3, 1, 144}, {144, 56, 24, 1, 1, 1},
    {192, 28, 192, 3, 1, 192}, {384, 14, 384, 3, 1, 384}, {96, 14, 576, 1, 1, 1},
    {576, 14, 576, 3, 2, 576}, {960, 7, 160, 1, 1, 1},    {128, 112, 128, 3, 1, 1},
    {256, 56, 256, 3, 1, 1},   {512, 14, 512, 3, 1, 1},
};

model::LayerKey key_of(const Shape& shape) {
  const std::int64_t pad = shape.kernel / 2;
  const std::int64_t out = (shape.extent + 2 * pad - shape.kernel) / shape.stride + 1;
  model::LayerSpec spec;
  spec.op = "conv";
  spec.inputs = {
      model::TensorType{
          model::DataType::kF32, {1, shape.channels, shape.extent, shape.extent}, false, {}},
      model::TensorType{model::DataType::kF32,
                        {shape.filters, shape.channels / shape.group, shape.kernel, shape.kernel},
                        true,
                        {}},
      model::TensorType{model::DataType::kF32, {shape.filters}, true, {}}};
  spec.outputs = {
      model::TensorType{model::DataType::kF32, {1, shape.filters, out, out}, false, {}}};
  spec.attributes["dilations"] = std::vector<std::int64_t>{1, 1};
  spec.attributes["group"] = shape.group;
  spec.attributes["pads"] = std::vector<std::int64_t>{pad, pad, pad, pad};
  spec.attributes["strides"] = std::vector<std::int64_t>{shape.stride, shape.stride};
  return model::to_key(spec);
}

struct Run {
  Seconds wall{};
  std::map<std::string, Seconds> medians;  // of full rows
  [[nodiscard]] std::string winner() const {
    std::string best;
    for (const auto& [variant, median] : medians) {
      if (best.empty() || median < medians.at(best)) {
        best = variant;
      }
    }
    return best;
  }
};

Run measure(BackendService& service,
            const model::LayerKey& key,
            std::vector<std::string> variants,
            std::vector<results::CacheMode> caches = {results::CacheMode::kNone,
                                                      results::CacheMode::kWeights}) {
  worker::WorkerService::MeasureRequest request;
  request.key = key;
  request.variants = std::move(variants);
  request.caches = std::move(caches);
  request.verify = false;
  Run run;
  const auto begin = std::chrono::steady_clock::now();
  service.measure(
      request,
      [&](const results::Measurement& row) {
        if (row.purpose == results::Purpose::kFull && row.cache == results::CacheMode::kNone &&
            row.outcome.timed()) {
          run.medians[row.variant] = row.corrected().median;
        }
      },
      [] {});
  run.wall = std::chrono::steady_clock::now() - begin;
  return run;
}

/// Measures two variants in full, in turn, and returns the median of left ÷ right: what the machine
/// does meanwhile meets both alike.
double ratio_in_context(BackendService& service,
                        const model::LayerKey& key,
                        const std::string& left,
                        const std::string& right) {
  constexpr int kRounds = 7;
  std::vector<double> ratios;
  for (int round = 0; round < kRounds; ++round) {
    const Run both = measure(service, key, {left, right}, {results::CacheMode::kNone});
    ratios.push_back(both.medians.at(left) / both.medians.at(right));
  }
  std::sort(ratios.begin(), ratios.end());
  return ratios[kRounds / 2];
}

int compare() {
  setenv("OMP_NUM_THREADS", "1", 1);
  const auto backend = onednn::load_backend({PLUMB_BENCH_LIBRARY}, PLUMB_BENCH_MODULE);
  BackendService service(*backend);
  if (std::freopen("/dev/null", "w", stderr) == nullptr) {
    return 1;
  }
  Seconds raced{};
  Seconds full{};
  int keys = 0;
  int agree = 0;
  for (const Shape& shape : kShapes) {
    const model::LayerKey key = key_of(shape);
    std::vector<std::string> fast;
    for (const worker::Variant& variant : service.variants(key)) {
      if (!variant.reference_implementation) {
        fast.push_back(variant.text);
      }
    }
    const Run race = measure(service, key, {});
    const Run each = measure(service, key, fast);
    if (race.medians.empty() || each.medians.empty()) {
      continue;
    }
    const std::string winner = race.winner();
    const std::string best = each.winner();
    const double ratio = winner == best ? 1.0 : ratio_in_context(service, key, winner, best);
    const bool same = ratio <= 1.01;
    ++keys;
    agree += same ? 1 : 0;
    raced += race.wall;
    full += each.wall;
    const std::string verdict =
        winner == best
            ? "same winner"
            : fmt::format("{}: {}, {:.3f} of {}", same ? "as good" : "OTHER", winner, ratio, best);
    fmt::print("{} variants, raced {:.3f} s, in full {:.3f} s, {}: {}\n",
               fast.size(),
               race.wall.count(),
               each.wall.count(),
               verdict,
               key.text);
  }
  const double share = keys == 0 ? 0.0 : static_cast<double>(agree) / keys;
  fmt::print(
      "racing: {:.1f} times cheaper (limit 5), same winner in {:.1f}% of {} keys (limit 95)\n",
      full / raced,
      share * 100.0,
      keys);
  return full / raced >= 5.0 && share >= 0.95 ? 0 : 1;
}

}  // namespace
}  // namespace plumb::engine

int main() {
  try {
    return plumb::engine::compare();
  } catch (const std::exception& error) {
    fmt::print("racing_bench: {}\n", error.what());
    return 3;
  }
}
