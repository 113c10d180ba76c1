// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/matrix/matrix_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/base/error.hpp"

namespace plumb::analysis {
namespace {

constexpr const char* kLowPrecision = "bf16+channels_last";
constexpr const char* kAll = "best_variant+bf16+fusion+parallel_branches";

constexpr std::string_view kBatches =
    "a suite with several batches, on each system: batch = [1, 8, 64]";

MatrixQuery of_models(Quantity quantity) {
  MatrixQuery query;
  query.quantity = quantity;
  query.rows = Axis::kModel;
  query.only = {{Axis::kBatch, {"1"}}};
  return query;
}

/// Returns a query of batches on systems: for each model, or as the mean over all of them.
MatrixQuery of_batches(Quantity quantity, const std::string& mode, bool mean = false) {
  MatrixQuery query;
  query.quantity = quantity;
  query.rows = mean ? Axis::kSystem : Axis::kModel;
  query.columns = Axis::kBatch;
  query.modes = {mode};
  query.bounds = {results::BoundKind::kBenanzaSequential};
  query.mean_over_models = mean;
  return query;
}

std::vector<MatrixView> make_views() {
  std::vector<MatrixView> views;
  views.push_back({"latency",
                   "latency of each model at batch 1",
                   "6",
                   "any suite with models",
                   of_models(Quantity::kTime)});

  MatrixQuery runtimes = of_models(Quantity::kTime);
  runtimes.columns = Axis::kRuntime;
  runtimes.relative_to = kFirstColumn;
  views.push_back({"runtimes",
                   "latency of each model by runtime ÷ that of the first runtime, at batch 1",
                   "7",
                   "the same suite by each runtime: --stack of each backend",
                   std::move(runtimes)});

  MatrixQuery branches = of_models(Quantity::kNormalizedBound);
  branches.columns = Axis::kBound;
  branches.bounds = {results::BoundKind::kBenanzaSequential, results::BoundKind::kBenanzaParallel};
  views.push_back({"sequential-and-parallel",
                   "the paper's sequential and parallel bound ÷ latency, at batch 1",
                   "8",
                   "layers and models: no --only",
                   std::move(branches)});

  views.push_back({"batches",
                   "latency by batch and system",
                   "9",
                   kBatches,
                   of_batches(Quantity::kTime, "plain")});
  views.push_back({"bound-by-batch",
                   "the paper's sequential bound ÷ latency, by batch and system",
                   "12",
                   kBatches,
                   of_batches(Quantity::kNormalizedBound, "plain")});
  views.push_back({"mean-bound-by-batch",
                   "geometric mean over all models of bound-by-batch",
                   "13",
                   kBatches,
                   of_batches(Quantity::kNormalizedBound, "plain", true)});
  views.push_back({"best-variant-speedup",
                   "predicted speed-up by the fastest variant of every layer",
                   "14",
                   kBatches,
                   of_batches(Quantity::kPredictedSpeedup, "best_variant")});
  views.push_back({"mean-best-variant-speedup",
                   "geometric mean over all models of best-variant-speedup",
                   "15",
                   kBatches,
                   of_batches(Quantity::kPredictedSpeedup, "best_variant", true)});
  views.push_back({"fusion-speedup",
                   "predicted speed-up by fusion of layers",
                   "16",
                   kBatches,
                   of_batches(Quantity::kPredictedSpeedup, "fusion")});
  views.push_back({"bf16-bound-speedup",
                   "predicted speed-up by bf16 in any layout: the paper's Tensor Cores (NCHW)",
                   "17",
                   kBatches,
                   of_batches(Quantity::kPredictedSpeedup, "bf16")});
  views.push_back({"bf16-channels-last-bound-speedup",
                   "predicted speed-up by bf16 with channels last: Tensor Cores (NHWC)",
                   "18",
                   "--mode plain --mode bf16+channels_last, layers included",
                   of_batches(Quantity::kPredictedSpeedup, kLowPrecision)});
  views.push_back({"bf16-channels-last-speedup",
                   "measured speed-up by bf16 with channels last: Tensor Cores (NHWC)",
                   "19",
                   "--mode plain --mode bf16+channels_last",
                   of_batches(Quantity::kSpeedup, kLowPrecision)});
  views.push_back({"all-speedup",
                   "predicted speed-up by parallel branches, fastest variants, fusion and bf16",
                   "20",
                   kBatches,
                   of_batches(Quantity::kPredictedSpeedup, kAll)});

  MatrixQuery front;
  front.rows = Axis::kModel;
  front.columns = Axis::kBatch;
  views.push_back({"latency-throughput",
                   "batches on the Pareto front of latency against throughput",
                   "",
                   "a suite with several batches: batch = [1, 8, 64]",
                   std::move(front),
                   true});
  return views;
}

}  // namespace

std::span<const MatrixView> matrix_views() {
  static const std::vector<MatrixView> views = make_views();
  return views;
}

const MatrixView& find_view(const std::string& name) {
  std::string known;
  for (const MatrixView& view : matrix_views()) {
    if (view.name == name) {
      return view;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", view.name);
  }
  throw Error(Error::Kind::kUser, fmt::format("there is no view '{}': there are {}", name, known));
}

}  // namespace plumb::analysis
