// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "harness/model/key/layer_spec.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/onednn/onednn_backend.hpp"
#include "tests/unit/onednn/layer_run.hpp"

namespace plumb::onednn {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Not;
using testing::Pointwise;

const char* const kConvolution =
    "v1:conv;in=f32[1,16,14,14],f32[32,16,3,3]c,f32[32]c;out=f32[1,32,14,14];acc=f32;math=strict;"
    "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]";

class OnednnBackend : public testing::Test {
 protected:
  std::unique_ptr<worker::Backend> backend_ = make_onednn_backend();
};

TEST_F(OnednnBackend, lists_variants_that_differ_and_marks_the_librarys_choice_and_references) {
  const std::vector<worker::Variant> variants = backend_->variants({kConvolution});
  ASSERT_GE(variants.size(), 3U);
  std::set<std::string> texts;
  for (const worker::Variant& variant : variants) {
    EXPECT_TRUE(texts.insert(variant.text).second) << variant.text << " twice";
    EXPECT_EQ(variant.library_choice, &variant == &variants.front()) << variant.text;
    EXPECT_EQ(variant.reference_implementation, variant.text.rfind("impl=ref", 0) == 0)
        << variant.text;
  }
  EXPECT_THAT(variants.front().text, HasSubstr(";layout=any;algorithm=direct"));
  EXPECT_TRUE(variants.back().reference_implementation);
  EXPECT_FALSE(variants.front().reference_implementation);
}

TEST_F(OnednnBackend, reference_code_behind_a_deconvolution_is_no_variant_with_channels_last) {
  std::size_t references = 0;
  for (const worker::Variant& variant : backend_->variants(
           {"v1:conv_backward_data;in=f32[2,32,14,14],f32[32,16,3,3];out=f32[2,16,14,14];acc=f32;"
            "math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"})) {
    const bool reference = variant.text.find("ref:any") != std::string::npos;
    EXPECT_EQ(variant.reference_implementation, reference) << variant.text;
    references += reference && variant.text.find("deconvolution") != std::string::npos ? 1U : 0U;
  }
  EXPECT_GT(references, 0U);
}

// docs/adr/0009
TEST_F(OnednnBackend, chooses_an_inner_product_for_a_matmul_by_one_matrix_of_weights) {
  const auto choice = [&](const char* key) { return backend_->variants({key}).front().text; };
  EXPECT_THAT(choice("v1:matmul;in=f32[2,8,16],f32[16,32]c;out=f32[2,8,32];acc=f32;math=strict"),
              HasSubstr("kind=inner_product"));
  for (const char* const key :
       {"v1:matmul;in=f32[2,8,16],f32[16,32];out=f32[2,8,32];acc=f32;math=strict",
        "v1:matmul;in=f32[2,8,16],f32[2,16,32]c;out=f32[2,8,32];acc=f32;math=strict"}) {
    EXPECT_THAT(choice(key), Not(HasSubstr("kind="))) << key;
  }
}

TEST_F(OnednnBackend, no_product_of_rows_counts_as_channels_last) {
  for (const worker::Variant& variant : backend_->variants(
           {"v1:matmul;in=f32[2,8,16],f32[16,32]c;out=f32[2,8,32];acc=f32;math=strict"})) {
    EXPECT_FALSE(variant.channels_last) << variant.text;
  }
}

TEST_F(OnednnBackend, computes_a_convolution_with_asymmetric_pads_and_bias) {
  // One row above, one column at the right: y = sum of the 2x2 window below-right, plus 10.
  const std::string key =
      "v1:conv;in=f32[1,1,2,2],f32[1,1,2,2]c,f32[1]c;out=f32[1,1,2,2];acc=f32;math=strict;"
      "dilations=[1,1];group=1;pads=[1,0,0,1];strides=[1,1]";
  const std::vector<model::Tensor> operands{f32_tensor({1, 1, 2, 2}, {1, 2, 3, 4}),
                                            f32_tensor({1, 1, 2, 2}, {1, 1, 1, 1}),
                                            f32_tensor({1}, {10})};
  EXPECT_THAT(run_first(*backend_, key, operands), ElementsAre(13, 12, 20, 16));
}

TEST_F(OnednnBackend, every_variant_of_a_convolution_computes_the_same) {
  const model::LayerKey key{kConvolution};
  const std::vector<model::Tensor> operands = engine::random_operands(model::parse_key(key), 7);
  const std::vector<float> expected = run_first(*backend_, key.text, operands);
  for (const worker::Variant& variant : backend_->variants(key)) {
    const std::vector<model::Tensor> outputs = run(*backend_, key, variant.text, operands);
    ASSERT_EQ(outputs.size(), 1U) << variant.text;
    const float* const values = outputs[0].as<float>();
    EXPECT_THAT(std::vector<float>(values, values + expected.size()),
                Pointwise(FloatNear(1e-4F), expected))
        << variant.text;
  }
}

TEST_F(OnednnBackend, slots_hold_their_own_operands_and_may_share_activations) {
  const std::string key =
      "v1:gemm;in=f32[1,2],f32[2,2]c;out=f32[1,2];acc=f32;math=strict;alpha=1.0;beta=1.0;trans_a=0;"
      "trans_b=0";
  const worker::Backend::Prepared prepared =
      backend_->prepare({key}, backend_->variants({key}).front().text);
  ASSERT_NE(prepared.program, nullptr) << prepared.outcome.reason;
  worker::Program& program = *prepared.program;
  program.bind(0, std::vector{f32_tensor({1, 2}, {1, 2}), f32_tensor({2, 2}, {1, 0, 0, 1})}, false);
  program.bind(1, std::vector{f32_tensor({1, 2}, {9, 9}), f32_tensor({2, 2}, {0, 1, 1, 0})}, true);
  program.enqueue(1);
  program.synchronize();
  const std::vector<model::Tensor> shared = program.outputs(1);
  EXPECT_EQ(shared[0].as<float>()[0], 2);  // slot 0's activation times slot 1's weights
  EXPECT_EQ(shared[0].as<float>()[1], 1);
  program.enqueue(0);
  program.synchronize();
  const std::vector<model::Tensor> own = program.outputs(0);
  EXPECT_EQ(own[0].as<float>()[0], 1);
  EXPECT_EQ(own[0].as<float>()[1], 2);
}

TEST_F(OnednnBackend, states_what_a_program_needs) {
  const worker::Backend::Prepared prepared =
      backend_->prepare({kConvolution}, backend_->variants({kConvolution}).front().text);
  ASSERT_NE(prepared.program, nullptr);
  const worker::Program::Facts facts = prepared.program->facts();
  EXPECT_GE(facts.weight_bytes.value, 4 * (32 * 16 * 9 + 32));
  EXPECT_GE(facts.activation_bytes.value, 4 * 14 * 14 * (16 + 32));
  ASSERT_TRUE(facts.creation.has_value());
  EXPECT_GT(facts.creation->count(), 0);
  EXPECT_THAT(backend_->variants({kConvolution}).front().text, HasSubstr(facts.implementation));
}

TEST_F(OnednnBackend, refuses_with_a_reason_and_never_throws) {
  const std::string unknown_type =
      "v1:gemm;in=f64[1,2],f64[2,2]c;out=f64[1,2];acc=f32;math=strict;alpha=1.0;beta=1.0;trans_a=0;"
      "trans_b=0";
  const results::Outcome outcome = backend_->supports({unknown_type});
  EXPECT_EQ(outcome.kind, results::Outcome::Kind::kUnsupported);
  EXPECT_THAT(outcome.reason, HasSubstr("f64"));
  EXPECT_TRUE(backend_->variants({unknown_type}).empty());

  const worker::Backend::Prepared prepared = backend_->prepare({kConvolution}, "impl=none");
  EXPECT_EQ(prepared.program, nullptr);
  EXPECT_EQ(prepared.outcome.kind, results::Outcome::Kind::kUnsupported);
  EXPECT_THAT(prepared.outcome.reason, HasSubstr("impl=none"));
}

TEST_F(OnednnBackend, says_what_the_cpu_lacks_for_f16_and_tf32) {
  const worker::Backend& backend = *backend_;
  const results::Outcome tf32 =
      backend.supports({"v1:matmul;in=f32[4,8],f32[8,16]c;out=f32[4,16];acc=f32;math=tf32"});
  EXPECT_EQ(tf32.kind, results::Outcome::Kind::kUnsupported);
  EXPECT_THAT(tf32.reason, HasSubstr("multiply in TF32"));
  for (const char* const key :
       {"v1:matmul;in=f16[4,8],f16[8,16]c;out=f16[4,16];acc=f32;math=strict",
        "v1:conv;in=f16[1,8,14,14],f16[16,8,3,3]c;out=f16[1,16,14,14];acc=f32;math=strict;"
        "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"}) {
    const results::Outcome f16 = backend.supports({key});
    if (!f16.ok()) {
      EXPECT_EQ(f16.kind, results::Outcome::Kind::kUnsupported);
      EXPECT_THAT(f16.reason,
                  HasSubstr("; f16 needs AVX512_CORE_FP16 or AVX2_VNNI_2, and oneDNN uses "));
    }
  }
}

TEST_F(OnednnBackend, never_drops_an_epilogue_that_it_cannot_fuse) {
  for (const char* const layer :
       {"v1:sum;in=f32[2],f32[2],f32[2];out=f32[2];acc=f32;math=strict",
        "v1:view;in=f32[2];out=f32[2];acc=f32;math=strict",
        "v1:softmax;in=f32[2];out=f32[2];acc=f32;math=strict;axis=0;coerce=0;log=0",
        "v1:expand;in=f32[1];out=f32[2];acc=f32;math=strict",
        "v1:transpose;in=f32[2,3];out=f32[3,2];acc=f32;math=strict;perm=[1,0]",
        "v1:concat;in=f32[2],f32[2];out=f32[4];acc=f32;math=strict;axis=0",
        "v1:lrn;in=f32[1,4,2,2];out=f32[1,4,2,2];acc=f32;math=strict;alpha=1.0;beta=1.0;bias=1.0;"
        "size=3",
        "v1:layer_norm;in=f32[2,4],f32[4]c;out=f32[2,4];acc=f32;math=strict;axis=1;epsilon=1e-"
        "05"}) {
    EXPECT_TRUE(backend_->supports({layer}).ok()) << layer;
    EXPECT_EQ(backend_->supports({std::string(layer) + ";epilogue=relu"}).kind,
              results::Outcome::Kind::kUnsupported)
        << layer;
  }
}

TEST_F(OnednnBackend, a_layer_beyond_the_memory_is_an_outcome) {
  const std::string key =
      "v1:eltwise;in=f32[1048576,262144];out=f32[1048576,262144];acc=f32;math=strict;fn=relu;"
      "parameters=[]";
  const std::vector<worker::Variant> variants = backend_->variants({key});
  ASSERT_FALSE(variants.empty());
  const worker::Backend::Prepared prepared = backend_->prepare({key}, variants.front().text);
  EXPECT_EQ(prepared.program, nullptr);
  EXPECT_EQ(prepared.outcome.kind, results::Outcome::Kind::kOutOfMemory);
}

TEST_F(OnednnBackend, describes_the_library_that_is_mapped) {
  const results::Environment environment = backend_->describe();
  EXPECT_EQ(environment.identity.at("backend"), "onednn");
  EXPECT_THAT(environment.identity.at("library"), testing::StartsWith("onednn-3."));
  EXPECT_EQ(environment.identity.at("library.runtime"), "OMP");
  EXPECT_THAT(environment.facts.at("library.path"), HasSubstr("libdnnl.so"));
  EXPECT_EQ(environment.facts.at("library.sha256").size(), 64U);
}

}  // namespace
}  // namespace plumb::onednn
