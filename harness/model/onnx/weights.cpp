// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/weights.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <string_view>
#include <vector>

#include "harness/base/error.hpp"

namespace plumb::model {
namespace {

using Dims = std::vector<std::int64_t>;

/// One place where a tensor is read.
struct Use {
  const onnx::NodeProto* node = nullptr;
  int operand = 0;
};

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

/// Returns the product of the extents, at most 2^40, because hostile ones would overflow.
std::int64_t product(const Dims& dims) {
  constexpr std::int64_t kEnough = std::int64_t{1} << 40U;
  std::int64_t elements = 1;
  for (const std::int64_t extent : dims) {
    if (extent > kEnough / elements) {
      return kEnough;
    }
    elements *= std::max<std::int64_t>(extent, 1);
  }
  return elements;
}

/// Index of the readers of each tensor of one graph.
class Reader {
 public:
  explicit Reader(const onnx::GraphProto& graph) {
    for (const auto& tensor : graph.initializer()) {
      constants_.insert(tensor.name());
      initializers_[tensor.name()] = &tensor;
    }
    for (const auto& node : graph.node()) {
      bool constant = true;
      for (int i = 0; i < node.input_size(); ++i) {
        uses_[node.input(i)].push_back({&node, i});
        constant = constant && (node.input(i).empty() || constants_.contains(node.input(i)));
      }
      for (const auto& output : node.output()) {
        if (constant) {
          constants_.insert(output);
        }
      }
    }
  }

  [[nodiscard]] WeightStream::Role role_of(const onnx::TensorProto& weight) const {
    Dims dims(weight.dims().begin(), weight.dims().end());
    const Use use = reader_of(weight.name(), dims);
    if (use.node == nullptr) {
      return {};
    }
    WeightStream::Role role = role_in(use, dims);
    if (role.kind == WeightStream::Role::Kind::kMatrix) {
      role.ends_branch = ends_branch(*use.node);
    }
    return role;
  }

 private:
  /// Follows a weight through nodes that only rearrange it, and returns the first node that
  /// computes with it. `dims` becomes its shape there. Bounded, because a hostile graph may be
  /// cyclic.
  Use reader_of(const std::string& name, Dims& dims) const {
    std::string at = name;
    for (int step = 0; step < 16; ++step) {
      const auto found = uses_.find(at);
      if (found == uses_.end()) {
        return {};
      }
      const Use use = found->second.front();
      const std::string& op = use.node->op_type();
      if (use.operand != 0 || use.node->output_size() == 0 ||
          !is_one_of(op, {"Reshape", "Unsqueeze", "Squeeze", "Identity", "Flatten", "Cast"})) {
        return use;
      }
      if (op == "Reshape" && use.node->input_size() > 1) {
        reshape(dims, use.node->input(1));
      }
      at = use.node->output(0);
    }
    return {};
  }

  void reshape(Dims& dims, const std::string& shape_name) const {
    const auto found = initializers_.find(shape_name);
    if (found == initializers_.end()) {
      return;
    }
    const auto& values = found->second->int64_data();
    Dims target(values.begin(), values.end());
    const bool plain =
        std::all_of(target.begin(), target.end(), [](std::int64_t extent) { return extent > 0; });
    if (plain && !target.empty()) {
      dims = std::move(target);
    }
  }

  static WeightStream::Role role_in(const Use& use, const Dims& dims) {
    using enum WeightStream::Role::Kind;
    const std::string& op = use.node->op_type();
    const int operand = use.operand;
    const std::int64_t elements = product(dims);
    if (is_one_of(op, {"Conv", "ConvTranspose"}) && operand == 1 && !dims.empty()) {
      return {.kind = kMatrix, .fan_in = elements / std::max<std::int64_t>(dims[0], 1)};
    }
    if (op == "Gemm" && operand < 2 && dims.size() == 2) {
      const std::string_view flag = operand == 0 ? "transA" : "transB";
      bool transposed = false;
      for (const auto& attribute : use.node->attribute()) {
        transposed = transposed || (attribute.name() == flag && attribute.i() != 0);
      }
      return {.kind = kMatrix, .fan_in = dims[(operand == 1) == transposed ? 1 : 0]};
    }
    if (op == "MatMul" && dims.size() >= 2) {
      return {.kind = kMatrix, .fan_in = operand == 0 ? dims.back() : dims[dims.size() - 2]};
    }
    if (op == "BatchNormalization" && operand == 4) {
      return {.kind = kVariance};
    }
    const bool normalises = is_one_of(op,
                                      {"BatchNormalization",
                                       "LayerNormalization",
                                       "InstanceNormalization",
                                       "GroupNormalization",
                                       "RMSNormalization"});
    if ((normalises && operand == 1) || is_one_of(op, {"Mul", "Div"})) {
      return {.kind = kScale};
    }
    if (op == "Gather" && operand == 0) {
      return {.kind = kEmbedding};
    }
    if (op == "PRelu" && operand == 1) {
      return {.kind = kSlope};
    }
    return {};
  }

  /// Returns whether the result of `node` is added to another branch, perhaps after a bias or a
  /// BatchNorm.
  bool ends_branch(const onnx::NodeProto& node) const {
    const onnx::NodeProto* at = &node;
    for (int step = 0; step < 8; ++step) {
      if (at->output_size() == 0) {
        return false;
      }
      const auto found = uses_.find(at->output(0));
      if (found == uses_.end() || found->second.size() != 1) {
        return false;
      }
      at = found->second.front().node;
      if (!is_one_of(at->op_type(), {"Add", "Sum", "Mul", "BatchNormalization", "Dropout"})) {
        return false;
      }
      const auto computed =
          std::count_if(at->input().begin(), at->input().end(), [this](const std::string& input) {
            return !constants_.contains(input);
          });
      if (is_one_of(at->op_type(), {"Add", "Sum"}) && computed > 1) {
        return true;
      }
    }
    return false;
  }

  std::set<std::string> constants_;
  std::map<std::string, const onnx::TensorProto*> initializers_;
  std::map<std::string, std::vector<Use>> uses_;
};

}  // namespace

std::map<std::string, WeightStream::Role> weight_roles(const onnx::GraphProto& graph) {
  const Reader reader(graph);
  std::map<std::string, WeightStream::Role> roles;
  for (const auto& tensor : graph.initializer()) {
    roles[tensor.name()] = reader.role_of(tensor);
  }
  return roles;
}

namespace {

/// Most elements of all weights together. A protobuf message must stay below 2 GiB.
constexpr std::int64_t kMaximumElements = std::int64_t{500} * 1000 * 1000;

bool has_data(const onnx::TensorProto& tensor) {
  const bool empty = std::count(tensor.dims().begin(), tensor.dims().end(), 0) > 0;
  return empty || !tensor.raw_data().empty() || tensor.float_data_size() > 0 ||
         tensor.int32_data_size() > 0 || tensor.int64_data_size() > 0 ||
         tensor.double_data_size() > 0 || tensor.uint64_data_size() > 0 ||
         tensor.string_data_size() > 0 || tensor.external_data_size() > 0;
}

std::int64_t count_elements(const onnx::TensorProto& tensor) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : tensor.dims()) {
    if (extent < 0 || (extent > 0 && elements > kMaximumElements / extent)) {
      throw Error(Error::Kind::kUser,
                  fmt::format("cannot fill weight '{}': extent {} makes it negative or larger than "
                              "{} elements",
                              tensor.name(),
                              extent,
                              kMaximumElements));
    }
    elements *= extent;
  }
  return elements;
}

/// Draws one value. All but the matrices' values are multiples of a power of two. Neither rounding
/// nor the contraction of a multiplication and an addition can make them differ between machines.
double draw(WeightStream& random, const WeightStream::Role& role, double deviation) {
  switch (role.kind) {
    case WeightStream::Role::Kind::kMatrix:
      return random.normal() * deviation;
    case WeightStream::Role::Kind::kScale:
    case WeightStream::Role::Kind::kVariance:
      return 0.875 + random.uniform() / 4;
    case WeightStream::Role::Kind::kSlope:
      return 0.125 + random.uniform() / 4;
    case WeightStream::Role::Kind::kEmbedding:
      return random.normal() / 32;
    case WeightStream::Role::Kind::kOffset:
      return random.normal() / 64;
  }
  fail_check("a known role", __FILE__, __LINE__);
}

/// Returns He et al.'s deviation (arXiv 1502.01852, eq. 10), halved where a branch ends. Otherwise
/// a deep residual network doubles its variance at every addition.
double he_deviation(const WeightStream::Role& role) {
  const double deviation =
      std::sqrt(2.0 / static_cast<double>(std::max<std::int64_t>(role.fan_in, 1)));
  return role.ends_branch ? deviation / 2 : deviation;
}

void fill(onnx::TensorProto& tensor, const WeightStream::Role& role, std::uint64_t seed) {
  if (tensor.data_type() != onnx::TensorProto::FLOAT) {
    throw Error(Error::Kind::kUser,
                fmt::format("cannot fill weight '{}' of ONNX element type {}: only float weights "
                            "can be random; give it data",
                            tensor.name(),
                            tensor.data_type()));
  }
  const std::int64_t elements = count_elements(tensor);
  const double deviation = he_deviation(role);
  WeightStream random = stream_of(seed, tensor.name());
  static_assert(std::endian::native == std::endian::little, "the order of bytes in a file");
  std::string bytes(static_cast<std::size_t>(elements) * sizeof(float), '\0');
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    const auto value = static_cast<float>(draw(random, role, deviation));
    std::memcpy(&bytes[at], &value, sizeof(float));
  }
  tensor.set_raw_data(std::move(bytes));
}

}  // namespace

void fill_weights(onnx::ModelProto& model, std::uint64_t seed) {
  std::int64_t total = 0;
  for (const auto& tensor : model.graph().initializer()) {
    total += has_data(tensor) ? 0 : count_elements(tensor);
    if (total > kMaximumElements) {
      throw Error(Error::Kind::kUser,
                  fmt::format("cannot fill the weights of '{}': more than {} elements do not fit "
                              "into one file",
                              model.graph().name(),
                              kMaximumElements));
    }
  }
  const auto roles = weight_roles(model.graph());
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (!has_data(tensor)) {
      fill(tensor, roles.at(tensor.name()), seed);
    }
  }
}

}  // namespace plumb::model
