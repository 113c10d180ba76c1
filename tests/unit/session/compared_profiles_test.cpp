// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/analysis/compare/model_comparison.hpp"
#include "harness/results/series/series_name.hpp"
#include "harness/session/study/paired_studies.hpp"
#include "tests/unit/session/profiled_models.hpp"

namespace plumb::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ComparedProfilesTest : public ProfiledModels {
 protected:
  /// Returns a comparison of two runs of the model, whose time has a verdict.
  analysis::ComparisonReport report_of(analysis::ComparisonVerdict verdict) {
    analysis::ComparisonReport report;
    for (results::RunRecord* const run : {&report.baseline, &report.candidate}) {
      run->header.id = begin_run();
      run->header.stack = "default";
      run->header.resolved_suite = suite_for_store(suite_, models_);
    }
    analysis::MetricComparison& metric = report.comparison.metrics.emplace_back();
    metric.series =
        analysis::end_to_end_series(subject_, "fusion", loadgen::ScenarioName::kSingleStream);
    metric.kind = analysis::MetricKind::kEndToEnd;
    metric.model = subject_;
    metric.ratio = 1.2;
    metric.verdict = verdict;
    return report;
  }
};

TEST_F(ComparedProfilesTest, nothing_is_profiled_if_nothing_changed) {
  const PairedProfiles::Outcome profiles = profile_comparison(
      context(), report_of(analysis::ComparisonVerdict::kEquivalent), Seconds(2.0));
  EXPECT_EQ(profiles.models, 0U);
  EXPECT_THAT(profiles.problems, ElementsAre(HasSubstr("no change is certain")));
}

TEST_F(ComparedProfilesTest, a_layer_of_no_model_is_profiled_under_two_stacks) {
  analysis::ComparisonReport report = report_of(analysis::ComparisonVerdict::kRegressed);
  analysis::MetricComparison& metric = report.comparison.metrics.front();
  metric.series = results::layer_series(test::key(1).text);
  metric.kind = analysis::MetricKind::kLayer;
  metric.model.clear();
  try {
    static_cast<void>(profile_comparison(context(), report, Seconds(2.0)));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kRefused);
    EXPECT_THAT(error.what(), HasSubstr("both runs are of the stack 'default'"));
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("--profile-budget")))
        << "runs keep no profiles of layers alone";
  }
}

TEST_F(ComparedProfilesTest, runs_of_one_stack_are_refused) {
  try {
    static_cast<void>(profile_comparison(
        context(), report_of(analysis::ComparisonVerdict::kRegressed), Seconds(2.0)));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kRefused);
    EXPECT_THAT(error.what(), HasSubstr("both runs are of the stack 'default'"));
  }
}

}  // namespace
}  // namespace plumb::session
