// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "runners/onednn/onednn_backend.hpp"

namespace plumb::onednn {
namespace {

using testing::HasSubstr;
using testing::Not;

class OnednnReproducer : public testing::Test {
 protected:
  /// Asks for the program of the library's choice for a key.
  worker::Reproducer of(const std::string& key) {
    results::Measurement row;
    row.key = {key};
    const std::vector<worker::Variant> variants = backend_->variants(row.key);
    row.variant = variants.empty() ? "none" : variants.front().text;
    row.samples = {Seconds(1e-3)};
    row.summary = measure::summarize(row.samples);
    row.output_hash = "\"evil";
    return backend_->reproduce({row.key, {row}, 5});
  }
  std::string source_of(const std::string& key) { return of(key).files.at(0).text; }

  std::string refusal_of(const std::string& key) {
    try {
      static_cast<void>(of(key));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser);
      return error.what();
    }
    return "none";
  }

  std::unique_ptr<worker::Backend> backend_ = make_onednn_backend();
};

TEST_F(OnednnReproducer, asks_for_the_primitive_as_it_was_made) {
  ASSERT_EQ(setenv("GOMP_SPINCOUNT", "17", 1), 0);
  const std::string source = source_of(
      "v1:conv;in=f32[1,16,8,8],f32[16,16,3,3]c,f32[16]c,f32[1,16,8,8];out=f32[1,16,8,8];acc=f32;"
      "math=strict;dilations=[1,1];group=1;pads=[1,0,1,2];strides=[1,1];epilogue=add@3,relu");
  EXPECT_THAT(source,
              HasSubstr("dnnl::convolution_forward::primitive_desc(engine, "
                        "dnnl::prop_kind::forward_inference, "
                        "dnnl::algorithm::convolution_direct"));
  EXPECT_THAT(source, HasSubstr("{1, 1}, {0, 0}, {1, 0}, {1, 2}, attributes)"));
  EXPECT_THAT(source, HasSubstr("append_binary(dnnl::algorithm::binary_add, "));
  EXPECT_THAT(source, HasSubstr("append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0)"));
  EXPECT_THAT(source, HasSubstr("DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1"));
  EXPECT_THAT(source, HasSubstr("constexpr std::uint64_t kSeed = 5U;"));
  EXPECT_THAT(source, HasSubstr("{\"GOMP_SPINCOUNT\", \"17\"}"));
  EXPECT_THAT(source, HasSubstr(R"("\"evil")"));
  EXPECT_THAT(source, Not(HasSubstr("harness/")));
}

TEST_F(OnednnReproducer, covers_every_kind_of_primitive_that_layers_are_made_of) {
  const std::vector<std::pair<std::string, std::string>> kinds{
      {"gemm;in=f32[5,24],f32[17,24]c,f32[17]c;out=f32[5,17];acc=f32;math=strict;alpha=1.0;"
       "beta=1.0;trans_a=0;trans_b=1",
       "dnnl::matmul::"},
      {"max_pool;in=f32[1,8,9,9];out=f32[1,8,4,4];acc=f32;math=strict;ceil_mode=0;dilations=[1,1];"
       "kernel=[3,3];pads=[0,0,0,0];strides=[2,2]",
       "dnnl::algorithm::pooling_max"},
      {"softmax;in=f32[4,10];out=f32[4,10];acc=f32;math=strict;axis=1;coerce=0;log=0",
       "dnnl::algorithm::softmax_accurate"},
      {"layer_norm;in=f32[2,7,32],f32[32]c,f32[32]c;out=f32[2,7,32];acc=f32;math=strict;axis=2;"
       "epsilon=0.001",
       "dnnl::layer_normalization_forward::"},
      {"lrn;in=f32[1,16,6,6];out=f32[1,16,6,6];acc=f32;math=strict;alpha=0.001;beta=0.75;bias=1.0;"
       "size=5",
       "dnnl::lrn_forward::"},
      {"eltwise;in=f32[4,10];out=f32[4,10];acc=f32;math=strict;fn=relu;parameters=[]",
       "dnnl::algorithm::eltwise_relu"},
      {"binary;in=f32[4,10],f32[4,10];out=f32[4,10];acc=f32;math=strict;fn=add",
       "dnnl::algorithm::binary_add"},
      {"transpose;in=f32[4,10];out=f32[10,4];acc=f32;math=strict;perm=[1,0]", "dnnl::reorder::"},
      {"conv_backward_weights;in=f32[2,16,5,5],f32[2,8,10,10];out=f32[16,8,3,3],f32[16];acc=f32;"
       "math=strict;dilations=[1,1];group=1;outputs=wb;pads=[1,1,1,1];strides=[2,2]",
       "dnnl::convolution_backward_weights::"},
      {"conv_backward_data;in=f32[2,16,5,5],f32[16,8,3,3];out=f32[2,8,10,10];acc=f32;math=strict;"
       "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[2,2]",
       "dnnl::convolution_backward_data::"},
      {"batch_norm_backward;in=f32[2,16,5,5],f32[2,16,5,5],f32[16],f32[16],f32[16];"
       "out=f32[2,16,5,5],f32[16],f32[16];acc=f32;math=strict;epsilon=0.001",
       "dnnl::batch_normalization_backward::"},
      {"max_pool_backward;in=f32[1,8,5,5],f32[1,8,9,9];out=f32[1,8,9,9];acc=f32;math=strict;"
       "ceil_mode=0;dilations=[1,1];kernel=[3,3];pads=[1,1,1,1];strides=[2,2]",
       "DNNL_ARG_WORKSPACE"},
      {"gemm_bias_gradient;in=f32[20,32],f32[20,24];out=f32[32,24],f32[32];acc=f32;math=strict;"
       "alpha=1.0;of=a;trans_a=1;trans_b=0",
       "dnnl::inner_product_backward_weights::"},
  };
  for (const auto& [key, expected] : kinds) {
    EXPECT_THAT(source_of("v1:" + key), HasSubstr(expected)) << key;
  }
}

TEST_F(OnednnReproducer, says_what_is_not_covered_and_what_is) {
  const std::string view = refusal_of("v1:view;in=f32[4,10];out=f32[40];acc=f32;math=strict");
  EXPECT_THAT(view, HasSubstr("it is a view"));
  EXPECT_THAT(view, HasSubstr("convolution, matmul"));
  EXPECT_THAT(refusal_of("v1:gather;in=f32[4,10],s64[3];out=f32[3,10];acc=f32;math=strict;axis=0;"
                         "distribution=uniform"),
              HasSubstr("conditions or indices"));
}

TEST_F(OnednnReproducer, refuses_rows_without_a_time_and_unknown_variants) {
  results::Measurement row;
  row.key = {"v1:eltwise;in=f32[4,10];out=f32[4,10];acc=f32;math=strict;fn=relu"};
  row.variant = "impl=unheard_of";
  EXPECT_THROW(static_cast<void>(backend_->reproduce({row.key, {row}, 1})), Error);
  row.outcome = {results::Outcome::Kind::kUnsupported, "no"};
  EXPECT_THROW(static_cast<void>(backend_->reproduce({row.key, {row}, 1})), Error);
  EXPECT_THROW(static_cast<void>(backend_->reproduce({row.key, {}, 1})), Error);
}

}  // namespace
}  // namespace plumb::onednn
