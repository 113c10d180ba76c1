// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <cstring>

#include "harness/base/error.hpp"
#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/zoo.hpp"

namespace plumb::zoo {
namespace {

onnx::ModelProto filled(std::string_view name, std::uint64_t seed) {
  onnx::ModelProto model = find(name)->build(1);
  model::fill_weights(model, seed);
  return model;
}

const onnx::TensorProto& tensor(const onnx::ModelProto& model, std::string_view name) {
  for (const auto& candidate : model.graph().initializer()) {
    if (candidate.name() == name) {
      return candidate;
    }
  }
  throw Error(Error::Kind::kInternal, "no weight " + std::string(name));
}

std::vector<float> values(const onnx::TensorProto& weight) {
  std::vector<float> numbers(weight.raw_data().size() / sizeof(float));
  std::memcpy(numbers.data(), weight.raw_data().data(), numbers.size() * sizeof(float));
  return numbers;
}

double deviation(const std::vector<float>& numbers) {
  double squares = 0;
  for (const float number : numbers) {
    squares += double{number} * double{number};
  }
  return std::sqrt(squares / static_cast<double>(numbers.size()));
}

std::string error_of(onnx::ModelProto model) {
  try {
    model::fill_weights(model, 1);
  } catch (const Error& error) {
    return error.kind() == Error::Kind::kUser ? error.what() : "not a user error";
  }
  return "no error";
}

TEST(Weights, are_the_same_bytes_on_every_machine) {
  // From an implementation of the recipe in another language.
  const onnx::ModelProto model = filled("lenet", 42);
  EXPECT_EQ(tensor(model, "conv0_weight").raw_data().substr(0, 12),
            "\x42\xa0\xf2\xbd\x57\xed\xf7\xbe\x9c\x9c\x14\x3e");
  EXPECT_EQ(tensor(model, "dense_bias").raw_data().substr(0, 8),
            std::string("\x00\x30\x1e\xba\x00\x20\xd7\xba", 8));
}

TEST(Weights, repeat_with_the_seed_and_differ_without) {
  const std::string first = filled("lenet", 1).SerializeAsString();
  EXPECT_EQ(first, filled("lenet", 1).SerializeAsString());
  EXPECT_NE(first, filled("lenet", 2).SerializeAsString());
}

TEST(Weights, are_complete_and_have_the_right_size) {
  for (const char* name : {"lenet", "squeezenet1.1"}) {
    const onnx::ModelProto model = filled(name, 3);
    for (const auto& weight : model.graph().initializer()) {
      std::size_t elements = 1;
      for (const std::int64_t extent : weight.dims()) {
        elements *= static_cast<std::size_t>(extent);
      }
      if (weight.data_type() == onnx::TensorProto::FLOAT) {
        EXPECT_EQ(weight.raw_data().size(), 4 * elements) << weight.name();
      } else {
        EXPECT_EQ(static_cast<std::size_t>(weight.int64_data_size()), elements) << weight.name();
      }
    }
  }
}

/// Builds a convolution, a BatchNorm, a residual branch and a classifier.
onnx::ModelProto residual_network() {
  GraphBuilder net("t", 9);
  const Wire stem = net.input("x", {1, 32, 8, 8}).conv({.filters = 64, .kernel = 3}).batch_norm();
  const Wire branch = stem.conv({.filters = 64, .kernel = 3, .pad = 1})
                          .relu()
                          .conv({.filters = 64, .kernel = 3, .pad = 1}, "last");
  net.output(branch.add(stem).global_average_pool().flatten().gemm(100));
  onnx::ModelProto model = net.finish();
  model::fill_weights(model, 5);
  return model;
}

TEST(Weights, follow_he) {
  const onnx::ModelProto model = residual_network();
  const auto near = [&](std::string_view name, double expected) {
    // 6,400 values or more: the standard error of the deviation is below 0.9%.
    EXPECT_NEAR(deviation(values(tensor(model, name))) / expected, 1.0, 0.03) << name;
  };
  near("conv0_weight", std::sqrt(2.0 / (32 * 3 * 3)));
  near("conv1_weight", std::sqrt(2.0 / (64 * 3 * 3)));     // opens the branch
  near("last_weight", std::sqrt(2.0 / (64 * 3 * 3)) / 2);  // ends it
  near("gemm0_weight", std::sqrt(2.0 / 64));
}

TEST(Weights, keep_batch_norms_harmless) {
  const onnx::ModelProto model = residual_network();
  for (const char* name : {"batchnorm0_running_var", "batchnorm0_gamma"}) {
    for (const float number : values(tensor(model, name))) {
      EXPECT_GE(number, 0.875F);
      EXPECT_LT(number, 1.125F);
    }
  }
  for (const char* name : {"batchnorm0_running_mean", "batchnorm0_beta"}) {
    for (const float number : values(tensor(model, name))) {
      EXPECT_LT(std::abs(number), 0.1F);
    }
  }
}

TEST(Weights, leave_data_alone) {
  onnx::ModelProto model = find("lenet")->build(1);
  auto& weight = *model.mutable_graph()->mutable_initializer(0);
  ASSERT_EQ(weight.name(), "dense_weight");
  weight.add_float_data(1.5F);
  auto& outside = *model.mutable_graph()->mutable_initializer(2);
  outside.set_data_location(onnx::TensorProto::EXTERNAL);
  outside.add_external_data()->set_key("location");
  model::fill_weights(model, 1);
  EXPECT_EQ(model.graph().initializer(0).float_data(0), 1.5F);
  EXPECT_TRUE(model.graph().initializer(0).raw_data().empty());
  EXPECT_TRUE(model.graph().initializer(2).raw_data().empty());
}

TEST(Weights, refuse_hostile_extents) {
  const auto with = [](const std::vector<std::int64_t>& dims) {
    onnx::ModelProto model;
    auto& weight = *model.mutable_graph()->add_initializer();
    weight.set_name("w");
    weight.set_data_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t extent : dims) {
      weight.add_dims(extent);
    }
    return model;
  };
  EXPECT_THAT(error_of(with({-1, 4})), testing::HasSubstr("cannot fill weight 'w': extent -1"));
  EXPECT_THAT(error_of(with({std::int64_t{1} << 62, 4})), testing::HasSubstr("larger than"));
  EXPECT_THAT(error_of(with({400'000'000, 2})), testing::HasSubstr("larger than"));
  onnx::ModelProto many = with({400'000'000});
  *many.mutable_graph()->add_initializer() = many.graph().initializer(0);
  many.mutable_graph()->mutable_initializer(1)->set_name("w2");
  EXPECT_THAT(error_of(many), testing::HasSubstr("do not fit into one file"));
  EXPECT_EQ(error_of(with({4, 0})), "no error");
}

TEST(Weights, refuse_types_they_cannot_draw) {
  onnx::ModelProto model;
  auto& weight = *model.mutable_graph()->add_initializer();
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::INT64);
  weight.add_dims(3);
  EXPECT_EQ(error_of(model),
            "cannot fill weight 'w' of ONNX element type 7: only float weights can be random; give "
            "it data");
}

}  // namespace
}  // namespace plumb::zoo
