// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/model/key/layer_spec.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/bench/verification.hpp"
#include "runners/onednn/onednn_backend.hpp"
#include "tests/unit/onednn/layer_run.hpp"
#include "tests/unit/onednn/sample_model.hpp"

namespace plumb::onednn {
namespace {

using testing::HasSubstr;

const model::LayerKey kPlain{
    "v1:conv;in=f32[5,16,9,9],f32[32,16,3,3]c,f32[32]c;out=f32[5,32,9,9];acc=f32;math=strict;"
    "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"};
const model::LayerKey kWithSum{
    "v1:conv;in=f32[5,16,9,9],f32[32,16,3,3]c,f32[32]c,f32[5,32,9,9];out=f32[5,32,9,9];acc=f32;"
    "math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1];epilogue=add@3,relu"};
const model::LayerKey kDataGradient{
    "v1:conv_backward_data;in=f32[5,5,9,9],f32[5,16,3,3];out=f32[5,16,9,9];acc=f32;math=strict;"
    "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"};
const model::LayerKey kWeightsGradient{
    "v1:conv_backward_weights;in=f32[5,20,9,9],f32[5,16,9,9];out=f32[20,16,3,3],f32[20];acc=f32;"
    "math=strict;dilations=[1,1];group=1;outputs=wb;pads=[1,1,1,1];strides=[1,1]"};

/// Returns the first variant of a key with another batch.
std::string first_variant(const worker::Backend& backend,
                          const model::LayerKey& key,
                          std::int64_t batch) {
  const model::LayerSpec spec = model::with_batch(model::parse_key(key), batch);
  return backend.variants(model::to_key(spec)).at(0).text;
}

TEST(DividedBatch, computes_what_the_whole_computes) {
  const std::unique_ptr<worker::Backend> backend = make_onednn_backend();
  for (const model::LayerKey& key : {kPlain, kWithSum, kDataGradient, kWeightsGradient}) {
    const model::LayerSpec spec = model::parse_key(key);
    const std::vector<model::Tensor> operands = engine::random_operands(spec, 3);
    const engine::Verifier verifier(spec, operands);
    const std::string whole = first_variant(*backend, key, 5);
    for (const std::vector<results::VariantId::Parts>& parts :
         {std::vector<results::VariantId::Parts>{{5, 1, first_variant(*backend, key, 1)}},
          {{2, 2, first_variant(*backend, key, 2)}, {1, 1, first_variant(*backend, key, 1)}},
          {{1, 5, whole}}}) {
      const std::string variant = results::divided_variant(parts);
      SCOPED_TRACE(variant);
      const engine::Verifier::Verdict verdict =
          verifier.verify(run(*backend, key, variant, operands));
      EXPECT_TRUE(verdict.outcome.ok()) << verdict.outcome.reason;
      EXPECT_GT(verdict.compared, 0U);
    }
  }
}

TEST(DividedBatch, counts_what_a_part_adds_as_workspace) {
  const std::unique_ptr<worker::Backend> backend = make_onednn_backend();
  const auto workspace = [&](const model::LayerKey& key, const std::string& variant) {
    const worker::Backend::Prepared prepared = backend->prepare(key, variant);
    EXPECT_NE(prepared.program, nullptr) << prepared.outcome.reason;
    return prepared.program == nullptr ? std::int64_t{-1}
                                       : prepared.program->facts().workspace.value;
  };
  const std::string one = first_variant(*backend, kWeightsGradient, 1);
  const model::LayerKey image =
      model::to_key(model::with_batch(model::parse_key(kWeightsGradient), 1));
  constexpr std::int64_t kAddends = 4 * (20 * 16 * 3 * 3 + 20);  // gradients of weights and bias
  EXPECT_GE(workspace(kWeightsGradient, results::divided_variant({{5, 1, one}})),
            workspace(image, one) + kAddends);

  // Parts of images use slices of the whole, and take turns with one scratchpad.
  const std::string part = first_variant(*backend, kPlain, 1);
  const model::LayerKey plain_image = model::to_key(model::with_batch(model::parse_key(kPlain), 1));
  EXPECT_EQ(workspace(kPlain, results::divided_variant({{5, 1, part}})),
            workspace(plain_image, part));
}

TEST(DividedBatch, refuses_what_it_cannot_divide) {
  const std::unique_ptr<worker::Backend> backend = make_onednn_backend();
  const auto reason = [&](const std::vector<results::VariantId::Parts>& parts) {
    return backend->prepare(kPlain, results::divided_variant(parts)).outcome.reason;
  };
  const std::string one = first_variant(*backend, kPlain, 1);
  EXPECT_THAT(reason({{4, 1, one}}), HasSubstr("4 images together, and the batch is 5"));
  EXPECT_THAT(reason({{1, 6, one}}), HasSubstr("larger than the batch"));
  EXPECT_THAT(reason({{5, 1, "impl=none"}}), HasSubstr("no variant 'impl=none' of a batch of 1"));
}

TEST(DividedBatch, is_executed_within_a_model) {
  const Sample sample{
      "g (float[4,16,9,9] x) => (float[4,8,9,9] y) {"
      "  a = Conv<pads=[1,1,1,1]>(x, w1)  b = Relu(a)  y = Conv<pads=[1,1,1,1]>(b, w2)}",
      {{"w1", {16, 16, 3, 3}}, {"w2", {8, 16, 3, 3}}}};
  const engine::ReadyModel plain = executed(sample, {});
  const std::unique_ptr<worker::Backend> backend = make_onednn_backend();
  const model::Layer& first = plain.plan.fused.graph.layers.at(0);
  const std::string variant =
      results::divided_variant({{2, 2, first_variant(*backend, first.key, 2)}});
  const engine::ReadyModel divided = expect_right(
      sample, {{.micro_batch = true}, {{{0}, first.key, {{variant, Seconds(1e-6)}}}}, {}});
  EXPECT_EQ(divided.prepared.variants.at(0), variant);
  EXPECT_NE(divided.prepared.variants.at(2), "");

  const engine::ReadyModel refused = executed(
      sample, {{.micro_batch = true}, {{{0}, first.key, {{"impl=none", Seconds(1e-6)}}}}, {}});
  EXPECT_EQ(refused.outcome.kind, results::Outcome::Kind::kUnsupported);
  EXPECT_THAT(refused.outcome.reason, HasSubstr("does not execute 'impl=none'"));
}

}  // namespace
}  // namespace plumb::onednn
