// SPDX-License-Identifier: Apache-2.0
// Our kernels, executed on the host: what NVRTC compiles for a GPU is compiled for the CPU, and
// computes every layer of the contract that it claims, in both layouts.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <set>

#include "harness/base/error.hpp"
#include "harness/model/key/operator_families.hpp"
#include "harness/model/key/training_layers.hpp"
#include "runners/cuda/exec/kernel_library.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/bench/verification.hpp"
#include "runners/engine/number_formats.hpp"
#include "tests/unit/cuda/builtin_layers.hpp"

namespace plumb::cuda {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(BuiltinLayer, computes_what_the_reference_does_in_both_layouts) {
  const std::vector<HostLayer> layers = builtin_layers();
  const std::vector<std::vector<model::Tensor>> outputs = run_on_host(layers);
  std::set<std::string> ops;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const engine::Verifier::Verdict verdict =
        engine::verify(layers[i].spec, layers[i].operands, outputs[i]);
    EXPECT_TRUE(verdict.outcome.ok())
        << model::to_key(layers[i].spec).text << " by " << layers[i].layer.launches[0].call
        << " in " << to_text(layers[i].layer.outputs[0]) << ": " << verdict.outcome.reason;
    ops.insert(layers[i].spec.op);
  }
  EXPECT_THAT(ops, SizeIs(53)) << "operators of the table that are tested";
  EXPECT_GT(layers.size(), 130U);
}

/// Casts to be run on the host, all compiled at once.
class HostCasts {
 public:
  /// Returns the number of the cast.
  std::size_t add(model::DataType from, model::DataType to, const std::vector<double>& numbers) {
    const auto count = static_cast<std::int64_t>(numbers.size());
    const model::LayerSpec spec =
        model::parse_key({fmt::format("v1:cast;in={}[{}];out={}[{}];acc=f32;math=strict",
                                      to_text(from),
                                      count,
                                      to_text(to),
                                      count)});
    layers_.push_back({spec,
                       builtin_layer(spec, TensorLayout::kChannelsFirst),
                       {engine::tensor_from({from, {count}}, numbers)}});
    return layers_.size() - 1;
  }
  void run() { outputs_ = run_on_host(layers_); }
  [[nodiscard]] std::vector<double> numbers(std::size_t cast) const {
    return engine::read_numbers(outputs_.at(cast).at(0));
  }

 private:
  std::vector<HostLayer> layers_;
  std::vector<std::vector<model::Tensor>> outputs_;
};

/// What is cast from and to one 8-bit type, and the numbers of the casts.
struct CastsOfType {
  model::DataType type;
  std::vector<double> all{};
  std::vector<double> between{1e9, -1e-9, 1e300, std::numeric_limits<double>::infinity()};
  std::size_t read = 0;
  std::size_t written = 0;
  std::size_t rounded = 0;
  std::size_t nan_read = 0;
  std::size_t nan_written = 0;
};

TEST(BuiltinLayer, rounds_to_8_bit_floats_once_and_reads_each_of_them) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<CastsOfType> types{{model::DataType::kF8E4M3}, {model::DataType::kF8E5M2}};
  HostCasts casts;
  for (CastsOfType& each : types) {
    for (std::uint8_t bits = 0; bits < 0x7C; ++bits) {  // to e5m2's infinity: numbers of both
      each.all.push_back(static_cast<double>(engine::float_from_f8(each.type, bits)));
      each.all.push_back(-each.all.back());
      const double next = static_cast<double>(
          engine::float_from_f8(each.type, static_cast<std::uint8_t>(bits + 1)));
      if (std::isfinite(next)) {
        const double middle = (std::fabs(each.all.back()) + next) / 2;
        for (const double factor : {1.0, 1 - 0x1p-40, 1 + 0x1p-40}) {
          each.between.push_back(middle * factor);
        }
      }
    }
    each.read = casts.add(each.type, model::DataType::kF32, each.all);
    each.written = casts.add(model::DataType::kF32, each.type, each.all);
    each.rounded = casts.add(model::DataType::kF64, each.type, each.between);
    each.nan_written = casts.add(model::DataType::kF32, each.type, {nan});
    each.nan_read = casts.add(each.type, model::DataType::kF32, {nan});
  }
  casts.run();
  for (const CastsOfType& each : types) {
    EXPECT_EQ(casts.numbers(each.read), each.all) << to_text(each.type);
    EXPECT_EQ(casts.numbers(each.written), each.all) << to_text(each.type);
    const model::Tensor expected = engine::tensor_from(
        {each.type, {static_cast<std::int64_t>(each.between.size())}}, each.between);
    EXPECT_EQ(casts.numbers(each.rounded), engine::read_numbers(expected)) << to_text(each.type);
    EXPECT_TRUE(std::isnan(casts.numbers(each.nan_written)[0]));
    EXPECT_TRUE(std::isnan(casts.numbers(each.nan_read)[0]));
  }
}

TEST(BuiltinLayer, has_every_key_of_8_bit_integers) {
  std::size_t count = 0;
  for (const std::string& key : builtin_keys()) {
    const model::LayerSpec spec = model::parse_key({key});
    if (model::is_integer_product(spec) || spec.op == "quantize" || spec.op == "dequantize") {
      EXPECT_NO_THROW(static_cast<void>(builtin_layer(spec, TensorLayout::kChannelsFirst))) << key;
      ++count;
    }
  }
  EXPECT_GT(count, 25U);
}

TEST(BuiltinLayer, says_what_it_has_no_kernel_for) {
  const auto refusal = [](const char* key) -> std::string {
    try {
      static_cast<void>(builtin_layer(model::parse_key({key}), TensorLayout::kChannelsFirst));
    } catch (const Unsupported& reason) {
      return reason.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("v1:reduce;in=f32[2,0,4];out=f32[2,4];acc=f32;math=strict;axes=[1];fn=max;"
                      "keepdims=0"),
              HasSubstr("without elements"));
  EXPECT_THAT(refusal("v1:matmul;in=f32[2,4],f32[4,4];out=f32[2,4];acc=f32;math=strict"),
              HasSubstr("'matmul'"));
  EXPECT_THAT(
      refusal("v1:matmul_integer;in=u8[5,32],s8[32,8],s8[];out=s32[5,8];acc=s32;math=strict"),
      HasSubstr("zero point of another type"));
  EXPECT_THAT(refusal("v1:sgd;in=bf16[4],bf16[4];out=bf16[4];acc=f32;math=strict;decay=0.0;"
                      "momentum=0.0;rate=0.1"),
              HasSubstr("updated in f32"));
  EXPECT_THAT(refusal("v1:batch_norm_training;in=f32[4,2],f32[2],f32[2];out=f32[4,2],f32[2],f32[2];"
                      "acc=f32;math=strict;epsilon=0.001;epilogue=sigmoid"),
              HasSubstr("other steps behind it"));
  EXPECT_THAT(refusal("v1:gather_backward;in=f16[4,2],s64[4];out=f16[3,2];acc=f32;math=strict;"
                      "axis=0;distribution=uniform"),
              HasSubstr("rounded at each sum"));
  EXPECT_THAT(refusal("v1:eltwise;in=s32[4];out=s32[4];acc=s32;math=strict;fn=exp;parameters=[]"),
              HasSubstr("integers"));
}

TEST(BuiltinLayer, updates_several_tensors_at_once_or_one_after_the_other) {
  const model::LayerSpec spec =
      model::parse_key({"v1:sgd;in=f32[70],f32[70],f32[70],f32[3,5],f32[3,5],f32[3,5];"
                        "out=f32[70],f32[70],f32[3,5],f32[3,5];acc=f32;math=strict;"
                        "decay=0.01;momentum=0.9;rate=0.1"});
  const BuiltinLayer together = builtin_layer(spec, TensorLayout::kChannelsFirst);
  ASSERT_THAT(together.launches, SizeIs(1));
  const engine::PlanBuffer::Uses uses = buffers_of(together.launches[0], {0, 1, 2, 3, 4, 5});
  EXPECT_THAT(uses.writes, ElementsAre(0U, 2U, 3U, 5U));
  EXPECT_THAT(uses.reads, ElementsAre(0U, 2U, 3U, 5U, 1U, 4U)) << "the old numbers, too";
  EXPECT_THAT(update_by_tensor(spec).launches, SizeIs(2));
}

TEST(BuiltinLayer, an_update_leaves_all_as_it_is_where_its_condition_is_0) {
  std::vector<HostLayer> layers;
  std::set<std::string> ops;
  for (HostLayer& layer : builtin_layers()) {
    if (!model::is_update(layer.spec) || !model::UpdateShape(layer.spec).condition()) {
      continue;
    }
    layer.operands.back() =
        engine::tensor_from(layer.operands.back().type, std::vector<double>{0.0});
    ops.insert(layer.spec.op);
    layers.push_back(std::move(layer));
  }
  EXPECT_THAT(ops, ElementsAre("adam", "lamb", "sgd"));
  const std::vector<std::vector<model::Tensor>> outputs = run_on_host(layers);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const model::UpdateShape shape(layers[i].spec);
    for (std::size_t result = 0; result < outputs[i].size(); ++result) {
      EXPECT_EQ(outputs[i][result].data, layers[i].operands[shape.replaced(result)].data)
          << model::to_key(layers[i].spec).text << ", result " << result;
    }
  }
}

TEST(BuiltinLayer, a_loss_scale_follows_whether_the_gradients_are_finite) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  constexpr auto kLargest = static_cast<double>(std::numeric_limits<float>::max());
  struct Case {
    std::vector<double> before;  // scale and steps
    double last;                 // element of the last gradient
    std::vector<double> after;   // scale, steps and whether updates happen
  };
  const std::vector<Case> cases{
      {{1024.0, 0.0}, -kLargest, {1024.0, 1.0, 1.0}},
      {{1024.0, 2.0}, 0.0, {2048.0, 0.0, 1.0}},
      {{0x1p127, 2.0}, 1.0, {0x1p127, 0.0, 1.0}},  // would not be finite
      {{1024.0, 2.0}, kInfinite, {512.0, 0.0, 0.0}},
      {{1024.0, 1.0}, -kInfinite, {512.0, 0.0, 0.0}},
      {{1024.0, 0.0}, std::numeric_limits<double>::quiet_NaN(), {512.0, 0.0, 0.0}},
  };
  const model::LayerSpec spec = model::parse_key(
      {"v1:loss_scale;in=f32[1],f32[1],f32[3],f32[5000];out=f32[1],f32[1],f32[1];acc=f32;"
       "math=strict;backoff=0.5;growth=2.0;interval=3"});
  std::vector<HostLayer> layers;
  for (const Case& each : cases) {
    std::vector<double> gradient(5000, 1.0);
    gradient.back() = each.last;
    const std::vector<std::vector<double>> numbers{
        {each.before[0]}, {each.before[1]}, {-1.0, 0.0, 1.0}, gradient};
    std::vector<model::Tensor> operands;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      operands.push_back(engine::tensor_from(spec.inputs[i].value(), numbers[i]));
    }
    layers.push_back({spec, builtin_layer(spec, TensorLayout::kChannelsFirst), operands});
  }
  const std::vector<std::vector<model::Tensor>> outputs = run_on_host(layers);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::vector<double> after;
    for (const model::Tensor& output : outputs[i]) {
      after.push_back(engine::number_at(output, 0));
    }
    EXPECT_EQ(after, cases[i].after) << "case " << i;
  }
}

TEST(BuiltinLayer, joins_axes_that_all_operands_step_through_alike) {
  const model::LayerSpec spec = model::parse_key(
      {"v1:binary;in=f32[4,5,6,7],f32[1,5,1,1];out=f32[4,5,6,7];acc=f32;math=strict;fn=add"});
  const BuiltinLayer layer = builtin_layer(spec, TensorLayout::kChannelsFirst);
  kernels::MapShape shape{};
  std::memcpy(&shape, layer.launches.at(0).shape.data(), sizeof shape);
  EXPECT_EQ(shape.space.rank, 3);
  EXPECT_EQ(shape.space.count, 840);
  EXPECT_EQ(shape.space.extents[2], 42);
  EXPECT_EQ(shape.space.strides[2][1], 1);
  EXPECT_EQ(shape.space.strides[2][2], 0);
}

TEST(KernelCompiler, tells_the_compilers_words_and_how_to_get_it) {
  try {
    const KernelLibrary::Compiler compiler({"libplumb-there-is-no-such-compiler.so"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("nvidia-cuda-nvrtc"));
  }
}

}  // namespace
}  // namespace plumb::cuda
