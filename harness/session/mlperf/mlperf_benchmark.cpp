// SPDX-License-Identifier: Apache-2.0
#include "harness/session/mlperf/mlperf_benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace plumb::session {
namespace {

constexpr std::uint64_t kSamples = 1024;  // LoadGen's own number, of resnet
constexpr Bytes kMemory{std::int64_t{1} << 30};

/// The benchmark of the models whose names begin with a text.
struct NamedBenchmark {
  std::string_view prefix;
  MlperfBenchmark benchmark;
};

// The names and numbers of the submission checker, rounds v5.0 to v6.1.
constexpr MlperfBenchmark kClassification{"resnet", kSamples};
constexpr std::array kNamed{NamedBenchmark{"resnet50", kClassification},
                            NamedBenchmark{"retinanet", {"retinanet", 64}},
                            NamedBenchmark{"bert-large", {"bert-99", 10'833}},
                            NamedBenchmark{"3d-unet", {"3d-unet-99", 43}},
                            NamedBenchmark{"dlrm-dcnv2", {"dlrm-v2-99", 204'800}},
                            NamedBenchmark{"yolo11", {"yolo-99", 64}},
                            NamedBenchmark{"llama-3.1-8b", {"llama3.1-8b", 13'368}},
                            NamedBenchmark{"whisper", {"whisper", 1'633}}};

/// Returns whether a model takes one image of three channels and tells 1,000 classes apart.
bool classifies_images(const model::Graph& graph) {
  constexpr std::int64_t kClasses = 1000;
  if (graph.inputs.size() != 1 || graph.outputs.empty()) {
    return false;
  }
  const std::vector<std::int64_t>& image = graph.values[graph.inputs[0]].type.dims;
  const std::vector<std::int64_t>& classes = graph.values[graph.outputs[0]].type.dims;
  return image.size() == 4 && image[1] == 3 &&
         std::find(classes.begin(), classes.end(), kClasses) != classes.end();
}

}  // namespace

std::optional<MlperfBenchmark> find_mlperf_benchmark(const std::string& model,
                                                     const model::Graph& graph) {
  for (const NamedBenchmark& named : kNamed) {
    if (model.compare(0, named.prefix.size(), named.prefix) == 0) {
      return named.benchmark;
    }
  }
  return classifies_images(graph) ? std::optional(kClassification) : std::nullopt;
}

DataSetSize data_set_size(const std::string& model,
                          const model::Graph& graph,
                          std::optional<std::uint64_t> asked) {
  const std::optional<MlperfBenchmark> benchmark = find_mlperf_benchmark(model, graph);
  DataSetSize size;
  size.wanted = benchmark ? benchmark->performance_samples : kSamples;
  Bytes sample{1};
  for (const model::ValueId input : graph.inputs) {
    sample += model::byte_size(graph.values[input].type);
  }
  const auto fitting =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, kMemory.value / sample.value));
  size.samples = asked.value_or(std::min(size.wanted, fitting));
  if (benchmark && size.samples < size.wanted) {
    size.shortage = fmt::format(
        "the data set has {} samples, but MLPerf's submission checker requires at least {} for {}; "
        "{}",
        size.samples,
        size.wanted,
        benchmark->name,
        asked ? "ask for more with --performance-sample-count"
              : fmt::format("1 GiB holds no more: --performance-sample-count {} takes {:.3g} GiB",
                            size.wanted,
                            static_cast<double>(size.wanted) * static_cast<double>(sample.value) /
                                static_cast<double>(kMemory.value)));
  }
  return size;
}

}  // namespace plumb::session
