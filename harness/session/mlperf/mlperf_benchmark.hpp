// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/model/graph/graph.hpp"

namespace plumb::session {

/// Benchmark of MLPerf Inference, as its submission checker knows it.
struct MlperfBenchmark {
  std::string_view name;              ///< "resnet"
  std::uint64_t performance_samples;  ///< samples to draw from, at least
};

/// Returns the benchmark whose task a model has, by its name or else by its shapes. A classifier of
/// images into 1,000 classes has resnet's. Absent: none is known.
[[nodiscard]] std::optional<MlperfBenchmark> find_mlperf_benchmark(const std::string& model,
                                                                   const model::Graph& graph);

/// Number of samples in a load's data set, with how it came about.
struct DataSetSize {
  std::uint64_t samples = 1;
  std::uint64_t wanted = 1;  ///< MLPerf's number for the benchmark, else 1,024
  std::string shortage;      ///< of samples below MLPerf's number, as a sentence; else empty
};

/// Returns the size of the data set of a model, `asked` if it is given. Otherwise it is as many
/// samples as MLPerf wants of the benchmark, and 1,024 of no benchmark. Their inputs may have
/// 1 GiB: of larger ones there are as many as fit.
[[nodiscard]] DataSetSize data_set_size(const std::string& model,
                                        const model::Graph& graph,
                                        std::optional<std::uint64_t> asked);

}  // namespace plumb::session
