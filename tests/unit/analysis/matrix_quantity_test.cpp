// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/analysis/matrix/matrix.hpp"
#include "harness/results/execution.hpp"
#include "tests/unit/analysis/matrix_runs.hpp"

namespace plumb::analysis {
namespace {

using testing::HasSubstr;

std::optional<Estimate> exact(double value) {
  return Estimate{value, value, value};
}

ModelResults sample() {
  ModelResults model = timed_model("lenet", 8.0, 4);
  model.executions.front().p99_seconds = exact(9.0);
  model.executions.push_back({"fusion", {}, exact(6.0), {}, true});
  model.executions.push_back({"bf16", {}, exact(4.0), {}, false});
  model.bounds = {{results::BoundKind::kLibrary, "plain", true, exact(5.0)},
                  {results::BoundKind::kLibrary, "fusion", true, exact(3.0)},
                  {results::BoundKind::kLibraryParallel, "plain", true, exact(2.5)},
                  {results::BoundKind::kHardware, "any", true, exact(1.0)},
                  {results::BoundKind::kPredicted, "plain", true, exact(8.0)},
                  {results::BoundKind::kPredicted, "bf16+channels_last", true, exact(4.0)}};
  model.predictions = {{"fusion", "fusion", exact(1.25), ""},
                       {"int8", "int8", {}, "no layer can be quantised"}};
  return model;
}

double value_of(Quantity quantity,
                const std::string& mode,
                results::BoundKind bound = results::BoundKind::kLibrary) {
  const Matrix::Value value = evaluate(quantity, mode, bound, sample());
  return value.estimate ? value.estimate->value : 0.0;
}

TEST(MatrixQuantity, is_computed_from_one_models_results) {
  EXPECT_DOUBLE_EQ(value_of(Quantity::kTime, "plain"), 8.0);
  EXPECT_DOUBLE_EQ(value_of(Quantity::kP99, "plain"), 9.0);
  EXPECT_DOUBLE_EQ(value_of(Quantity::kThroughput, "plain"), 0.5);
  EXPECT_DOUBLE_EQ(value_of(Quantity::kBound, "fusion"), 3.0);
  EXPECT_DOUBLE_EQ(value_of(Quantity::kGap, "fusion"), 2.0);
  EXPECT_DOUBLE_EQ(value_of(Quantity::kNormalizedBound, "plain"), 0.625);
  EXPECT_DOUBLE_EQ(value_of(Quantity::kGap, "plain", results::BoundKind::kHardware), 8.0);
  EXPECT_DOUBLE_EQ(value_of(Quantity::kSpeedup, "bf16"), 2.0);
  EXPECT_DOUBLE_EQ(value_of(Quantity::kPredictedSpeedup, "fusion"), 1.25);
  EXPECT_DOUBLE_EQ(value_of(Quantity::kPredictedSpeedup, "bf16+channels_last"), 2.0)
      << "by the prices of both plans: no what-if has this mode";
  EXPECT_TRUE(evaluate(Quantity::kGap, "fusion", results::BoundKind::kLibrary, sample()).disturbed);
}

TEST(MatrixQuantity, no_bound_of_the_models_type_holds_in_another_type) {
  for (const results::BoundKind kind : {results::BoundKind::kLibrary,
                                        results::BoundKind::kHardware,
                                        results::BoundKind::kBenanzaSequential}) {
    EXPECT_EQ(evaluate(Quantity::kGap, "bf16", kind, sample()).missing.kind,
              Matrix::Value::Missing::Kind::kNoBound)
        << to_text(kind);
  }
  EXPECT_EQ(evaluate(Quantity::kBound, "parallel_branches", results::BoundKind::kLibrary, sample())
                .missing.kind,
            Matrix::Value::Missing::Kind::kNoBound)
      << "one step after the other bounds no branches side by side";
  EXPECT_DOUBLE_EQ(
      value_of(Quantity::kBound, "parallel_branches", results::BoundKind::kLibraryParallel), 2.5);
}

TEST(MatrixQuantity, says_why_it_has_no_value) {
  ModelResults model = sample();
  model.lacks = "11 of 12 layers have a time; not pool: unsupported: no pooling";
  model.bounds.front().complete = false;
  const Matrix::Value incomplete =
      evaluate(Quantity::kGap, "plain", results::BoundKind::kLibrary, model);
  EXPECT_EQ(incomplete.missing.kind, Matrix::Value::Missing::Kind::kIncomplete);
  EXPECT_THAT(incomplete.missing.reason, HasSubstr("11 of 12 layers"));
  const Matrix::Value unpredicted =
      evaluate(Quantity::kPredictedSpeedup, "int8", results::BoundKind::kLibrary, sample());
  EXPECT_EQ(unpredicted.missing.kind, Matrix::Value::Missing::Kind::kNotPredicted);
  EXPECT_THAT(unpredicted.missing.reason, HasSubstr("no layer can be quantised"));
  const Matrix::Value unexecuted =
      evaluate(Quantity::kSpeedup, "int8", results::BoundKind::kLibrary, sample());
  EXPECT_EQ(unexecuted.missing.kind, Matrix::Value::Missing::Kind::kNotExecuted);
  EXPECT_EQ(unexecuted.missing.mode, "int8") << "what to execute";
}

TEST(MatrixQuantity, of_every_kind_is_a_value_or_a_reason) {
  for (const std::string& name : quantity_names()) {
    const Quantity quantity = parse_quantity(name).value();
    EXPECT_EQ(to_text(quantity), name);
    for (const results::ExecutionMode& mode : results::default_modes()) {
      for (const results::BoundKind bound : {results::BoundKind::kLibrary,
                                             results::BoundKind::kHardware,
                                             results::BoundKind::kPredicted,
                                             results::BoundKind::kBenanzaParallel}) {
        for (const ModelResults& model : {sample(), ModelResults{}}) {
          const Matrix::Value value = evaluate(quantity, to_text(mode), bound, model);
          EXPECT_EQ(value.estimate.has_value(), value.missing.reason.empty()) << name;
          EXPECT_EQ(value.estimate.has_value(), value.missing.word.empty()) << name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace plumb::analysis
