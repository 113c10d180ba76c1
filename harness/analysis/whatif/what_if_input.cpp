// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/what_if_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/results/execution.hpp"
#include "harness/rewrite/types/typed_graph.hpp"

namespace plumb::analysis {

const model::Graph& WhatIfInput::graph_in(std::string_view type) const {
  if (type.empty()) {
    return graph;
  }
  const auto found = typed_.find(type);
  return found != typed_.end()
             ? found->second
             : typed_.emplace(std::string(type), rewrite::typed_graph(graph, type)).first->second;
}

const ModelPartition& WhatIfInput::partition_in(std::string_view type,
                                                ModelPartition::Mode mode,
                                                std::string_view family) const {
  const std::tuple key(std::string(type), mode, std::string(family));
  const auto found = partitions_.find(key);
  return found != partitions_.end()
             ? found->second
             : partitions_.emplace(key, partition_model(graph_in(type), results, mode, family))
                   .first->second;
}

std::string WhatIfInput::why_no_branches() const {
  // A device has streams for branches, whatever the threads of its worker.
  const bool one_thread = scaling != nullptr && scaling->processors() < 2;
  return one_thread && !on_device.value_or(false)
             ? "the run has one thread, so that no branch can run beside another: run with "
               "--threads 2 or more"
             : std::string();
}

std::optional<Seconds> predicted_saving(const WhatIfResult& result) {
  const bool known = result.why_not.empty() && result.baseline && result.predicted;
  return known ? std::optional(*result.baseline - *result.predicted) : std::nullopt;
}

std::optional<measure::MeasuredTime> saving_with_interval(const WhatIfResult& result) {
  const std::optional<Seconds> saving = predicted_saving(result);
  if (!saving) {
    return std::nullopt;
  }
  const measure::Interval& before = result.baseline_interval;
  const measure::Interval& after = result.predicted_interval;
  const double below =
      std::hypot((*result.baseline - before.low).count(), (after.high - *result.predicted).count());
  const double above =
      std::hypot((before.high - *result.baseline).count(), (*result.predicted - after.low).count());
  return measure::MeasuredTime{*saving, {*saving - Seconds(below), *saving + Seconds(above)}};
}

void conclude(WhatIfResult& result,
              const measure::MeasuredTime& baseline,
              const measure::MeasuredTime& predicted) {
  result.baseline = baseline.median;
  result.baseline_interval = baseline.interval;
  result.predicted = predicted.median;
  result.predicted_interval = predicted.interval;
  if (predicted.median > Seconds{}) {
    result.predicted_speedup = baseline.median / predicted.median;
  }
  std::stable_sort(
      result.layers.begin(), result.layers.end(), [](const auto& left, const auto& right) {
        return left.before - left.after > right.before - right.after;
      });
}

std::optional<measure::MeasuredTime> price_mode(const WhatIfInput& input,
                                                const results::ExecutionMode& mode) {
  const bool own_type = mode.other_type().empty();
  if (!rewrite::has_form(input.graph, mode.other_type()) || mode.channels_last ||
      mode.checkpointing || mode.folded_norms || mode.captured || mode.eager ||
      mode.has_branches() ||
      (!own_type && input.instance.dtype != to_text(model::DataType::kF32))) {
    return std::nullopt;
  }
  // A model in 8 bits is fused before it is quantised.
  const ModelPartition::Mode partition =
      mode.fuses() && !mode.int8 ? ModelPartition::Mode::kFusion : ModelPartition::Mode::kPlain;
  std::vector<PartitionStep> steps =
      input.partition_in(mode.other_type(), partition, mode.fusion_family()).steps;
  for (PartitionStep& step : steps) {
    if (!mode.best_variant) {
      step.time = input.results.library_choice(step.key, results::CacheMode::kNone);
    }
  }
  const ModelPartition::Priced::Sum sum = sum_steps(steps);
  return sum.missing == 0 && !steps.empty() ? std::optional(sum.time) : std::nullopt;
}

std::optional<ModelPartition::Priced> price_in_f32(const WhatIfInput& input, WhatIfResult& result) {
  if (input.instance.dtype != to_text(model::DataType::kF32)) {
    result.why_not = fmt::format("the model runs in {} already", input.instance.dtype);
    result.applies = false;
    return std::nullopt;
  }
  ModelPartition::Priced full =
      priced_partition(input.graph,
                       input.results,
                       input.partition_in({}, ModelPartition::Mode::kPlain).steps,
                       input.instance.dtype);
  if (!full.why_not.empty()) {
    result.why_not = full.why_not;
    return std::nullopt;
  }
  return full;
}

namespace {

constexpr std::array kSettings = std::to_array<WhatIfResult::Setting>({
    {"best_variant", "oneDNN", "walk the implementations with primitive_desc::next_impl()"},
    {"best_variant", "cuDNN", "cudnnFindConvolutionForwardAlgorithm()"},
    {"best_variant", "ONNX Runtime", "CUDA provider: cudnn_conv_algo_search = EXHAUSTIVE"},
    {"best_variant", "PyTorch", "torch.backends.cudnn.benchmark = True"},
    {"fusion", "oneDNN", "post-ops: primitive_attr::set_post_ops()"},
    {"fusion", "cuDNN", "graph API: pointwise operations behind a convolution or product"},
    {"fusion", "ONNX Runtime", "graph_optimization_level = ORT_ENABLE_ALL"},
    {"fusion", "PyTorch", "torch.compile(model)"},
    {"channels_last", "oneDNN", "memory::format_tag::nhwc"},
    {"channels_last", "cuDNN", "CUDNN_TENSOR_NHWC"},
    {"channels_last", "ONNX Runtime", "CUDA provider: prefer_nhwc = 1"},
    {"channels_last", "PyTorch", "model and inputs .to(memory_format=torch.channels_last)"},
    {"checkpointing", "ONNX Runtime", "training by ORTModule: ORTMODULE_MEMORY_OPT_LEVEL=1"},
    {"checkpointing", "PyTorch", "torch.utils.checkpoint.checkpoint_sequential()"},
    {"fused_optimizer", "ONNX Runtime", "onnxruntime.training.optim.FusedAdam"},
    {"fused_optimizer", "PyTorch", "torch.optim.AdamW(…, fused=True), or foreach=True"},
    {"gemm_bias", "oneDNN", "inner_product_forward with a bias, inner_product_backward_weights"},
    {"gemm_bias", "cuBLASLt", "CUBLASLT_EPILOGUE_BIAS, then CUBLASLT_EPILOGUE_BGRADB"},
    {"gemm_gelu", "cuBLASLt", "CUBLASLT_EPILOGUE_GELU_AUX, then CUBLASLT_EPILOGUE_DGELU"},
    {"gemm_relu", "cuBLASLt", "CUBLASLT_EPILOGUE_RELU_AUX, then CUBLASLT_EPILOGUE_DRELU"},
    {"conv_relu_backward",
     "cuDNN",
     "graph API: CUDNN_POINTWISE_RELU_BWD behind a convolution's gradient of data"},
    {"folded_norms", "PyTorch", "in forward(): conv2d(x, weight * factor, offset), both constant"},
    {"bf16", "oneDNN", "memory::data_type::bf16"},
    {"bf16", "cuDNN", "CUDNN_DATA_BFLOAT16, compute type CUDNN_DATA_FLOAT"},
    {"bf16", "ONNX Runtime", "TensorRT provider: trt_bf16_enable = 1"},
    {"bf16", "PyTorch", "model and inputs .to(torch.bfloat16), or torch.autocast"},
    {"f16", "oneDNN", "memory::data_type::f16"},
    {"f16", "cuDNN", "CUDNN_DATA_HALF, compute type CUDNN_DATA_FLOAT"},
    {"f16", "ONNX Runtime", "convert the file: onnxconverter_common.float16"},
    {"f16", "PyTorch", "model and inputs .half(), or torch.autocast"},
    {"tf32", "oneDNN", "ONEDNN_DEFAULT_FPMATH_MODE=TF32, or set_fpmath_mode()"},
    {"tf32", "cuDNN", "math type CUDNN_DEFAULT_MATH, which CUDNN_FMA_MATH forbids"},
    {"tf32", "ONNX Runtime", "CUDA provider: use_tf32 = 1"},
    {"tf32",
     "PyTorch",
     "torch.set_float32_matmul_precision('high'); torch.backends.cudnn.allow_tf32 = True"},
    {"int8", "oneDNN", "memory::data_type::u8 and s8, primitive_attr::set_scales_mask()"},
    {"int8", "cuDNN", "CUDNN_DATA_INT8, compute type CUDNN_DATA_INT32"},
    {"int8", "ONNX Runtime", "onnxruntime.quantization.quantize_static()"},
    {"int8", "PyTorch", "torchao: prepare_pt2e(), convert_pt2e(), then torch.compile()"},
    {"micro_batch", "oneDNN", "a primitive for each part, on slices of the images"},
    {"micro_batch", "cuDNN", "µ-cuDNN's UcudnnHandle_t in place of cudnnHandle_t"},
    {"captured", "cuDNN", "graph API: cudnnBackendPopulateCudaGraph()"},
    {"captured", "ONNX Runtime", "CUDA provider: enable_cuda_graph = 1"},
    {"captured", "PyTorch", "torch.cuda.graph(), or torch.compile(mode='reduce-overhead')"},
    {"parallel_branches",
     "oneDNN",
     "a thread, a stream and a scratchpad for each branch: scratchpad_mode::user"},
    {"parallel_branches", "cuDNN", "a stream for each branch: cudnnSetStream()"},
    {"parallel_branches", "ONNX Runtime", "execution_mode = ORT_PARALLEL, inter_op_num_threads"},
    {"parallel_branches", "PyTorch", "torch.jit.fork(), torch.set_num_interop_threads()"},
});

}  // namespace

std::vector<WhatIfResult::Setting> settings_of(std::string_view execution_mode) {
  std::vector<WhatIfResult::Setting> settings;
  for (std::string_view rest = execution_mode; !rest.empty();) {
    const std::size_t end = rest.find('+');
    const std::string_view word = rest.substr(0, end);
    std::copy_if(kSettings.begin(),
                 kSettings.end(),
                 std::back_inserter(settings),
                 [&](const WhatIfResult::Setting& each) { return each.option == word; });
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return settings;
}

std::string accuracy_class(std::string_view execution_mode) {
  if (execution_mode.empty()) {
    return "same";
  }
  const std::string_view type = results::execution_mode_from(execution_mode).other_type();
  return type.empty() ? "same" : std::string(type);
}

}  // namespace plumb::analysis
