// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/engine_query.hpp"

#include <fmt/format.h>

#include <functional>
#include <numeric>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/operator_families.hpp"
#include "harness/results/engine_choice.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/dnn/engine_search.hpp"
#include "runners/cuda/dnn/graph_variants.hpp"
#include "runners/cuda/dnn/operation_graph.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {
namespace {

/// Matrices of one factor.
struct ProductFactor {
  std::int64_t batch = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool transposed = false;
};

ProductFactor factor_of(const model::TensorType& type, bool transposed) {
  if (type.dims.size() < 2) {
    throw Unsupported("a product of a vector by cuDNN");
  }
  const auto end = type.dims.end();
  return {std::accumulate(type.dims.begin(), end - 2, std::int64_t{1}, std::multiplies<>()),
          transposed ? end[-1] : end[-2],
          transposed ? end[-2] : end[-1],
          transposed};
}

TensorGraph::Tensor tensor_of(model::DataType type, const ProductFactor& factor) {
  TensorGraph::Tensor tensor;
  tensor.type = cudnn_type(type);
  tensor.dimensions = {factor.batch, factor.rows, factor.columns};
  const std::int64_t across = factor.transposed ? 1 : factor.columns;
  const std::int64_t along = factor.transposed ? factor.rows : 1;
  tensor.strides = {factor.rows * factor.columns, across, along};
  return tensor;
}

bool flag(const model::LayerSpec& spec, const char* name) {
  return spec.op == "gemm" && spec.integer(name) != 0;
}

}  // namespace

TensorGraph product_graph(const model::LayerSpec& spec) {
  if (spec.op != "gemm" && spec.op != "matmul") {
    throw Unsupported(fmt::format("'{}' is no product", spec.op));
  }
  const model::TensorType& left = spec.inputs.at(0).value();
  const model::TensorType& right = spec.inputs.at(1).value();
  ProductFactor a = factor_of(left, flag(spec, "trans_a"));
  const ProductFactor b = factor_of(right, flag(spec, "trans_b"));
  if (b.batch == 1) {
    a.rows *= std::exchange(a.batch, 1);  // the rows of a batch follow each other
  } else if (a.batch != b.batch) {
    throw Unsupported("a product by cuDNN whose batches broadcast");
  }
  TensorGraph graph;
  graph.tensors = {tensor_of(left.dtype, a),
                   tensor_of(right.dtype, b),
                   tensor_of(spec.outputs.at(0).dtype, {a.batch, a.rows, b.columns, false})};
  graph.tensors[0].operand = 0;
  graph.tensors[1].operand = 1;
  graph.operations.emplace_back(TensorGraph::Matmul{0, 1, 2});
  return graph;
}

namespace {

using Attribute = abi::CudnnCalls::Attribute;
using DescriptorType = abi::CudnnCalls::DescriptorType;
using HeuristicMode = abi::CudnnCalls::HeuristicMode;

Descriptor device_properties(const CudnnLibrary& library, const std::string& json) {
  try {
    Descriptor result(library, DescriptorType::kDeviceProperties);
    result.set_text(Attribute::kDeviceJson, json);
    result.finish("the description of a device");
    return result;
  } catch (const CudnnLibrary::Refusal& refusal) {
    throw Error(Error::Kind::kUser,
                fmt::format("cuDNN does not accept the device's description ({}): compare it with "
                            "one of the profiles that come with this program",
                            refusal.what()));
  }
}

/// Returns plan_digest() of a plan's own text. Empty: cuDNN gives no text of it.
std::string compute_digest(const Descriptor& plan) {
  try {
    return plan_digest(plan.text(Attribute::kPlanJson));
  } catch (const CudnnLibrary::Refusal&) {
    return {};
  }
}

constexpr std::size_t kOldestForProducts = 91900;

/// Graph about which cuDNN is asked. `layout` names it in the answer.
struct Question {
  std::string layout;
  TensorGraph graph;
  bool is_compiled = true;  ///< cuDNN compiles its engines, which takes up to a second each
};

/// Lists what to ask about a layer. Throws Unsupported for one that cuDNN has no graph for.
std::vector<Question> questions(const model::LayerSpec& spec, std::size_t version) {
  std::vector<Question> list;
  if (spec.op == "attention") {
    list.push_back({"sdpa", attention_form(spec).graph});
  } else if (spec.op == "attention_backward") {
    require_sound_attention_gradient(spec, version);
    list.push_back({"sdpa", attention_gradient_form(spec).graph});
  } else if (spec.op == "gemm" || spec.op == "matmul") {
    if (version < kOldestForProducts) {
      throw Unsupported("a product by cuDNN before 9.19: 9.12 divides by zero where no device is");
    }
    list.push_back({"product", product_graph(spec)});
  } else if (model::is_normalization(spec)) {
    for (GraphForm& form : norm_forms(spec)) {
      list.push_back({form.text.substr(form.text.find('=') + 1), std::move(form.graph)});
    }
  } else {
    const bool is_pool = spec.op.ends_with("_pool");
    for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
      list.push_back({std::string(to_text(layout)),
                      is_pool ? pool_graph(spec, layout) : convolution_graph(spec, layout),
                      is_pool});
    }
  }
  return list;
}

}  // namespace

EngineQuery::EngineQuery(const CudnnLibrary& library, std::string device)
    : library_(library),
      device_(std::move(device)),
      properties_(device_properties(library, device_)) {}

EngineQuery::EngineQuery(const CudnnLibrary::Handle& handle)
    : library_(handle.library()), handle_(handle.get()) {}

EngineTarget EngineQuery::target() const {
  return {properties_ ? &*properties_ : nullptr, handle_};
}

results::EngineChoices EngineQuery::choices(const model::LayerKey& key,
                                            EngineQuery::Depth depth) const {
  results::EngineChoices result{.key = key, .outcome = {}, .offers = {}};
  const model::LayerSpec spec = model::parse_key(key);
  try {
    for (const Question& question : questions(spec, library_.version_number())) {
      result.offers.push_back(offer(
          spec, question.graph, question.is_compiled ? EngineQuery::Depth::kToFirstChoice : depth));
      result.offers.back().layout = question.layout;
    }
  } catch (const Unsupported& reason) {
    result.outcome = {results::Outcome::Kind::kUnsupported, reason.what()};
    result.offers.clear();
  }
  return result;
}

results::EngineChoices::Offer EngineQuery::offer(const model::LayerSpec& spec,
                                                 const TensorGraph& graph,
                                                 EngineQuery::Depth depth) const {
  results::EngineChoices::Offer result;
  const model::LayerSpec* const until =
      depth == EngineQuery::Depth::kToFirstChoice ? &spec : nullptr;
  try {
    const OperationGraph operations = operation_graph(library_, graph, handle_);
    result.engines = operations.graph.integer(Attribute::kGraphEngineCount);
    result.rankings.push_back(ranking(operations.graph, "A", HeuristicMode::kA, until));
    // FALLBACK takes ten times as long as A, and matters only if A gave no engine that may be used.
    if (results::chosen_engine(spec, result) == nullptr) {
      result.rankings.push_back(
          ranking(operations.graph, "FALLBACK", HeuristicMode::kFallback, until));
    }
  } catch (const CudnnLibrary::Refusal& refusal) {
    result.refusal = refusal.what();
  }
  return result;
}

results::EngineChoices::Ranking EngineQuery::ranking(const Descriptor& operations,
                                                     const char* name,
                                                     HeuristicMode mode,
                                                     const model::LayerSpec* spec) const {
  results::EngineChoices::Ranking result{.heuristic = name, .configurations = {}, .refusal = {}};
  try {
    for (const Descriptor& one : ask_heuristic(library_, operations, mode, target())) {
      result.configurations.push_back(configuration(one));
      const results::EngineChoices::Configuration& last = result.configurations.back();
      if (spec != nullptr && last.refusal.empty() && results::keeps_promise(*spec, last)) {
        break;
      }
    }
  } catch (const CudnnLibrary::Refusal& refusal) {
    result.refusal = refusal.what();
  }
  return result;
}

results::EngineChoices::Configuration EngineQuery::configuration(
    const Descriptor& descriptor) const {
  results::EngineChoices::Configuration result;
  try {
    result = read_configuration(descriptor);
    const Descriptor plan = execution_plan(library_, descriptor, target());
    result.plan_digest = compute_digest(plan);
  } catch (const CudnnLibrary::Refusal& refusal) {
    result.refusal = refusal.what();
  }
  return result;
}

}  // namespace plumb::cuda
