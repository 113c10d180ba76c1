// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <ostream>

#include "harness/model/key/op_schema.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/bench/verification.hpp"
#include "runners/onednn/onednn_backend.hpp"
#include "tests/unit/onednn/layer_run.hpp"

namespace plumb::onednn {
namespace {

/// One function with parameters and whether oneDNN has it.
struct Function {
  const char* fn;
  std::vector<double> parameters;
  bool in_library;
};

void PrintTo(const Function& function, std::ostream* out) {
  *out << function.fn;
}

model::LayerSpec spec_of(const Function& function, model::DataType type) {
  model::LayerSpec spec;
  spec.op = "eltwise";
  spec.inputs = {model::TensorType{type, {3, 37}, false, {}}};
  spec.outputs = {model::TensorType{type, {3, 37}, false, {}}};
  spec.attributes = {{"fn", std::string(function.fn)}, {"parameters", function.parameters}};
  return spec;
}

class OnednnEltwise : public testing::TestWithParam<Function> {};

TEST_P(OnednnEltwise, every_variant_agrees_with_the_reference) {
  const std::unique_ptr<worker::Backend> backend = make_onednn_backend();
  for (const model::DataType type : {model::DataType::kF32, model::DataType::kBf16}) {
    if (type == model::DataType::kBf16 && !has_bf16(*backend)) {
      continue;  // ours alone, which the contract has
    }
    const model::LayerSpec spec = spec_of(GetParam(), type);
    const model::LayerKey key = model::to_key(spec);
    const std::vector<model::Tensor> operands = engine::random_operands(spec, 5);
    const engine::Verifier verifier(spec, operands);
    const std::vector<worker::Variant> variants = backend->variants(key);
    ASSERT_FALSE(variants.empty()) << key.text << ": " << backend->supports(key).reason;
    EXPECT_EQ(variants.front().text.find("plumb:") == std::string::npos, GetParam().in_library)
        << key.text;
    for (const worker::Variant& variant : variants) {
      const engine::Verifier::Verdict verdict =
          verifier.verify(run(*backend, key, variant.text, operands));
      EXPECT_TRUE(verdict.outcome.ok())
          << key.text << " " << variant.text << ": " << verdict.outcome.reason;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions,
                         OnednnEltwise,
                         testing::Values(Function{"relu", {}, true},
                                         Function{"leaky_relu", {0.1}, true},
                                         Function{"elu", {0.7}, true},
                                         Function{"selu", {1.67, 1.05}, false},
                                         Function{"celu", {1.0}, true},
                                         Function{"celu", {0.5}, false},
                                         Function{"sigmoid", {}, true},
                                         Function{"tanh", {}, true},
                                         Function{"softplus", {}, true},
                                         Function{"softsign", {}, false},
                                         Function{"hard_sigmoid", {0.2, 0.5}, true},
                                         Function{"hard_swish", {}, true},
                                         Function{"silu", {}, true},
                                         Function{"gelu_erf", {}, true},
                                         Function{"gelu_tanh", {}, true},
                                         Function{"mish", {}, true},
                                         Function{"thresholded_relu", {0.3}, false},
                                         Function{"clip", {-0.5, 0.5}, true},
                                         Function{"exp", {}, true},
                                         Function{"log", {}, true},
                                         Function{"sqrt", {}, true},
                                         Function{"reciprocal", {}, true},
                                         Function{"abs", {}, true},
                                         Function{"neg", {}, true},
                                         Function{"linear", {0.5, -1.25}, true},
                                         Function{"sign", {}, false},
                                         Function{"floor", {}, false},
                                         Function{"ceil", {}, false},
                                         Function{"erf", {}, false},
                                         Function{"sin", {}, false},
                                         Function{"cos", {}, false}));

TEST(OnednnEltwiseIntegers, wrap_around_as_twos_complement) {
  const std::unique_ptr<worker::Backend> backend = make_onednn_backend();
  const model::LayerKey key{
      "v1:eltwise;in=s64[3];out=s64[3];acc=s64;math=strict;fn=abs;parameters=[]"};
  model::Tensor x{model::TensorType{model::DataType::kS64, {3}, false, {}},
                  std::vector<std::byte>(24)};
  x.as<std::int64_t>()[0] = -5;
  x.as<std::int64_t>()[1] = 7;
  x.as<std::int64_t>()[2] = INT64_MIN;
  const std::vector<worker::Variant> variants = backend->variants(key);
  ASSERT_EQ(variants.size(), 1U);
  EXPECT_EQ(variants[0].text, "impl=plumb:eltwise");
  const std::vector<model::Tensor> y = run(*backend, key, variants[0].text, {x});
  EXPECT_EQ(y[0].as<std::int64_t>()[0], 5);
  EXPECT_EQ(y[0].as<std::int64_t>()[1], 7);
  EXPECT_EQ(y[0].as<std::int64_t>()[2], INT64_MIN);
}

}  // namespace
}  // namespace plumb::onednn
