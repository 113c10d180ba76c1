// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "runners/engine/number_formats.hpp"
#include "runners/engine/reference/reference.hpp"
#include "runners/onednn/onednn_backend.hpp"
#include "tests/unit/onednn/layer_run.hpp"

namespace plumb::onednn {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

TEST(OnednnAttention, says_that_it_is_composed) {
  const std::unique_ptr<worker::Backend> backend = make_onednn_backend();
  if (!has_bf16(*backend)) {
    GTEST_SKIP() << "this CPU has no bf16";
  }
  const std::vector<worker::Variant> variants = backend->variants(
      {"v1:attention;in=bf16[1,4,1,32],bf16[1,2,8,32],bf16[1,2,8,32];out=bf16[1,4,1,32];acc=f32;"
       "math=strict;causal=0;kv_heads=2;outputs=y;q_heads=4;scale=0.25;softcap=0.0"});
  ASSERT_EQ(variants.size(), 4U);  // scores in f32 and bf16, heads folded and apart
  for (const worker::Variant& variant : variants) {
    EXPECT_THAT(variant.text, HasSubstr("composed:"));
  }
}

TEST(OnednnAttention, gives_zeros_where_a_mask_leaves_no_key) {
  const model::LayerSpec spec = model::parse_key(
      {"v1:attention;in=f32[1,2,2,4],f32[1,2,3,4],f32[1,2,3,4],bool[2,3];out=f32[1,2,2,4];acc=f32;"
       "math=strict;causal=1;kv_heads=2;outputs=y;q_heads=2;scale=0.5;softcap=0.0"});
  std::vector<model::Tensor> operands;
  for (std::size_t i = 0; i < 3; ++i) {
    operands.push_back(engine::tensor_from(
        *spec.inputs[i],
        std::vector<double>(static_cast<std::size_t>(element_count(*spec.inputs[i])), 1.0)));
  }
  // The first query may see key 0 alone, which the mask hides; the second sees keys 0 and 1.
  operands.push_back(engine::tensor_from(*spec.inputs[3], std::vector<double>{0, 1, 1, 0, 1, 1}));
  const std::unique_ptr<worker::Backend> backend = make_onednn_backend();
  for (const worker::Variant& variant : backend->variants(model::to_key(spec))) {
    const std::vector<double> y =
        engine::read_numbers(run(*backend, model::to_key(spec), variant.text, operands).at(0));
    ASSERT_EQ(y.size(), 16U);
    EXPECT_THAT(std::vector<double>(y.begin(), y.begin() + 4), Each(0.0)) << variant.text;
    EXPECT_THAT(std::vector<double>(y.begin() + 4, y.begin() + 8), Each(1.0)) << variant.text;
    EXPECT_EQ(y, engine::read_numbers(engine::reference_outputs(spec, operands).at(0)))
        << variant.text;
  }
}

}  // namespace
}  // namespace plumb::onednn
