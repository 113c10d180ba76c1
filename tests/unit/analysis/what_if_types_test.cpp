// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "harness/analysis/whatif/what_if.hpp"
#include "harness/rewrite/quantized_graph.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "tests/unit/analysis/row_builder.hpp"
#include "tests/unit/analysis/what_if_questions.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::analysis {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct OtherTypeCase {
  const char* name;
  model::DataType type;
};

void PrintTo(const OtherTypeCase& each, std::ostream* out) {
  *out << each.name;
}

class OtherTypeWhatIf : public testing::TestWithParam<OtherTypeCase> {};

TEST_P(OtherTypeWhatIf, compares_with_measured_keys_of_that_type) {
  const auto [name, type] = GetParam();
  const model::Graph graph = product_and_relu();
  const model::Graph lower = rewrite::with_precision(graph, type);
  RowBuilder b;
  b.choice(graph.layers[0].key, "f32", 30.0);
  b.choice(graph.layers[1].key, "f32", 10.0);
  b.choice(lower.layers[0].key, "amx", 12.0);
  EXPECT_EQ(ask(name, graph, b).why_not,
            "no " + std::string(name) +
                " time for 1 of 2 layers, first eltwise1: not measured in this run");
  b.choice(lower.layers[1].key, "jit", 8.0);
  const WhatIfResult result = ask(name, graph, b);
  EXPECT_THAT(result.why_not, IsEmpty());
  EXPECT_NEAR(*result.predicted_speedup, 2.0, 1e-12);
  ASSERT_THAT(result.layers, SizeIs(2));
  EXPECT_EQ(result.layers[0].layer, "gemm0");
  EXPECT_EQ(result.layers[0].change, "f32 → amx");
  EXPECT_THAT(result.prerequisites, SizeIs(2));
}

TEST_P(OtherTypeWhatIf, says_why_the_library_refuses) {
  const auto [name, type] = GetParam();
  const model::Graph graph = product_and_relu();
  const model::Graph lower = rewrite::with_precision(graph, type);
  RowBuilder b;
  b.choice(graph.layers[0].key, "f32", 30.0);
  b.choice(graph.layers[1].key, "f32", 10.0);
  b.fail(lower.layers[0].key, results::Outcome::Kind::kUnsupported, "it needs avx512_core");
  const WhatIfResult result = ask(name, graph, b);
  EXPECT_FALSE(result.predicted.has_value());
  EXPECT_THAT(result.why_not, HasSubstr("first gemm0: unsupported: it needs avx512_core"));
  EXPECT_EQ(ask(name, lower, b, {"handmade", 1, name}).why_not,
            "the model runs in " + std::string(name) + " already");
}

INSTANTIATE_TEST_SUITE_P(Types,
                         OtherTypeWhatIf,
                         testing::Values(OtherTypeCase{"bf16", model::DataType::kBf16},
                                         OtherTypeCase{"f16", model::DataType::kF16}),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(WhatIf, tf32_changes_products_only) {
  const model::Graph graph = product_and_relu();
  const model::Graph lower = rewrite::with_tf32(graph);
  RowBuilder b;
  b.choice(graph.layers[0].key, "simt", 30.0);
  b.choice(graph.layers[1].key, "pointwise", 10.0);
  EXPECT_EQ(ask("tf32", graph, b).why_not,
            "no tf32 time for 1 of 2 layers, first gemm0: not measured in this run");
  b.choice(lower.layers[0].key, "tensor_op", 10.0);
  const WhatIfResult result = ask("tf32", graph, b);
  EXPECT_THAT(result.why_not, IsEmpty());
  EXPECT_NEAR(*result.predicted_speedup, 2.0, 1e-12);
  ASSERT_THAT(result.layers, SizeIs(1));
  EXPECT_EQ(result.layers[0].change, "simt → tensor_op");
  EXPECT_EQ(ask("tf32", lower, b, {"handmade", 1, "tf32"}).why_not,
            "the model runs in tf32 already");
}

TEST(WhatIf, f16_says_where_it_is_known_to_be_no_faster) {
  const model::Graph graph = product_and_relu();
  const model::Graph lower = rewrite::with_precision(graph, model::DataType::kF16);
  RowBuilder b;
  for (const model::Graph* const each : {&graph, &lower}) {
    b.choice(each->layers[0].key, "a", 30.0);
    b.choice(each->layers[1].key, "a", 10.0);
  }
  results::Calibration calibration;
  calibration.peak_f32 = FlopsPerSecond{1e11};
  calibration.theoretical_f32 = FlopsPerSecond{2e11};
  const auto prerequisites = [&] {
    const ResultSet results(b.rows(), calibration);
    return f16_what_if({kHandmade, graph, results}).prerequisites;
  };
  EXPECT_THAT(prerequisites(), SizeIs(2)) << "unknown";
  calibration.peak_f16 = FlopsPerSecond{2e11};
  ASSERT_THAT(prerequisites(), SizeIs(3));
  EXPECT_THAT(prerequisites()[2], HasSubstr("here it is no faster than f32"));
  calibration.peak_f16 = FlopsPerSecond{4e11};
  EXPECT_THAT(prerequisites(), SizeIs(2));
}
TEST(WhatIf, int8_compares_with_the_fused_products_in_8_bits) {
  const model::Graph graph = product_and_relu();
  const model::Graph lower = rewrite::int8_graph(graph).graph;
  ASSERT_THAT(lower.layers, SizeIs(2));  // rounds the input; the product with what follows it
  RowBuilder b;
  b.choice(graph.layers[0].key, "f32", 30.0);
  EXPECT_EQ(ask("int8", graph, b).why_not,
            "no f32 time for 1 of 2 layers, first eltwise1: not measured in this run");
  b.choice(graph.layers[1].key, "f32", 10.0);
  b.choice(lower.layers[1].key, "vnni", 8.0);
  EXPECT_EQ(ask("int8", graph, b).why_not,
            "no int8 time for 1 of 2 layers, first x0 (quantize): not measured in this run");
  b.choice(lower.layers[0].key, "jit", 2.0);
  const WhatIfResult result = ask("int8", graph, b);
  EXPECT_THAT(result.why_not, IsEmpty());
  EXPECT_NEAR(*result.predicted_speedup, 4.0, 1e-12);
  ASSERT_THAT(result.layers, SizeIs(1));
  EXPECT_EQ(result.layers[0].layer, "gemm0 + eltwise1");
  EXPECT_NEAR(microseconds(result.layers[0].before), 40.0, 1e-9);
  EXPECT_NEAR(microseconds(result.layers[0].after), 8.0, 1e-9);
}

}  // namespace
}  // namespace plumb::analysis
