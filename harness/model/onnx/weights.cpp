// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/weights.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "harness/base/error.hpp"
#include "harness/model/onnx/weight_role.hpp"
#include "harness/model/onnx/weight_stream.hpp"

namespace plumb::model {
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
double draw(WeightStream& random, const WeightRole& role, double deviation) {
  switch (role.kind) {
    case WeightRole::Kind::kMatrix:
      return random.normal() * deviation;
    case WeightRole::Kind::kScale:
    case WeightRole::Kind::kVariance:
      return 0.875 + random.uniform() / 4;
    case WeightRole::Kind::kSlope:
      return 0.125 + random.uniform() / 4;
    case WeightRole::Kind::kEmbedding:
      return random.normal() / 32;
    case WeightRole::Kind::kOffset:
      return random.normal() / 64;
  }
  fail_check("a known role", __FILE__, __LINE__);
}

/// Returns He et al.'s deviation (arXiv 1502.01852, eq. 10), halved where a branch ends. Otherwise
/// a deep residual network doubles its variance at every addition.
double he_deviation(const WeightRole& role) {
  const double deviation =
      std::sqrt(2.0 / static_cast<double>(std::max<std::int64_t>(role.fan_in, 1)));
  return role.ends_branch ? deviation / 2 : deviation;
}

void fill(onnx::TensorProto& tensor, const WeightRole& role, std::uint64_t seed) {
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
