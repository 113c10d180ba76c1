// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/base/timestamp.hpp"
#include "harness/session/study/paired_studies.hpp"
#include "tests/unit/session/profiled_models.hpp"

namespace plumb::session {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class PairedProfilesTest : public ProfiledModels {
 protected:
  PairedProfiles take(const PairedRounds::Side& baseline,
                      const PairedRounds::Side& candidate,
                      Seconds budget,
                      const std::string& subject = {}) {
    const std::vector<analysis::ProfilingChoice::Model> wanted{
        {subject.empty() ? subject_ : subject, results::execution_mode_from("fusion")}};
    return profile_in_pairs(context(), suite_, models_, wanted, baseline, candidate, budget);
  }
  PairedRounds::Side side(const std::string& backend) { return {worker(backend), begin_run()}; }
};

TEST_F(PairedProfilesTest, each_side_gets_its_profile_and_keeps_it) {
  need_onednn();
  if (IsSkipped()) {
    return;
  }
  const PairedRounds::Side baseline = side("onednn");
  const PairedRounds::Side candidate = side("onednn");
  const Seconds begin = steady_time();
  const PairedProfiles sets = take(baseline, candidate, Seconds(2.0));
  EXPECT_LT(steady_time() - begin, Seconds(60.0));
  EXPECT_THAT(
      sets.problems,
      ElementsAre(AllOf(HasSubstr("the time for it ended with"), HasSubstr("of 20000 samples"))));
  ASSERT_THAT(sets.baseline, SizeIs(1));
  ASSERT_THAT(sets.candidate, SizeIs(1));
  EXPECT_EQ(sets.baseline[0].run, baseline.run);
  EXPECT_EQ(sets.candidate[0].run, candidate.run);
  for (const PairedRounds::Side* const one : {&baseline, &candidate}) {
    const auto kept = store_->profiles(one->run);
    ASSERT_THAT(kept, SizeIs(1));
    EXPECT_EQ(kept[0].subject, subject_);
    EXPECT_EQ(kept[0].profile.mode, "fusion");
    EXPECT_FALSE(kept[0].profile.cells.empty());
  }
  // The turns are equally many, each in a process of its own.
  EXPECT_EQ(sets.baseline[0].profile.processes.size(), sets.candidate[0].profile.processes.size());
}

TEST_F(PairedProfilesTest, a_side_that_refuses_is_a_problem_and_the_other_keeps_its_profile) {
  need_onednn();
  if (IsSkipped()) {
    return;
  }
  const PairedProfiles sets = take(side("onednn"), side("fake"), Seconds(2.0));
  EXPECT_THAT(
      sets.problems,
      ElementsAre(AllOf(HasSubstr("profiling " + subject_), HasSubstr("cannot be sampled"))));
  EXPECT_THAT(sets.baseline, SizeIs(1));
  EXPECT_THAT(sets.candidate, IsEmpty());
}

TEST_F(PairedProfilesTest, a_layer_of_no_model_is_profiled_alone) {
  need_onednn();
  if (IsSkipped()) {
    return;
  }
  const std::string key = "v1:matmul;in=f32[64,64],f32[64,64]c;out=f32[64,64];acc=f32;math=strict";
  const std::vector<analysis::ProfilingChoice::Model> wanted{{key, {}, key}};
  const PairedProfiles sets = profile_in_pairs(
      context(), suite_, models_, wanted, side("onednn"), side("onednn"), Seconds(2.0));
  ASSERT_THAT(sets.baseline, SizeIs(1));
  ASSERT_THAT(sets.candidate, SizeIs(1));
  EXPECT_EQ(sets.baseline[0].subject, key);
  const results::NamedProfile& profile = sets.baseline[0].profile;
  EXPECT_EQ(profile.model, key);
  EXPECT_EQ(profile.mode, "plain");
  ASSERT_FALSE(profile.steps.empty());
  EXPECT_EQ(profile.steps[0].key, key);
  EXPECT_EQ(profile.step_names[0], "matmul");
  EXPECT_FALSE(profile.cells.empty());
}

TEST_F(PairedProfilesTest, models_for_which_no_time_is_left_are_counted) {
  const PairedProfiles sets = take(side("fake"), side("fake"), Seconds(0.0));
  EXPECT_THAT(sets.problems, ElementsAre(HasSubstr("1 of 1 models and layers were not profiled")));
}

TEST_F(PairedProfilesTest, a_model_that_was_not_planned_is_left_out) {
  const PairedProfiles sets = take(side("fake"), side("fake"), Seconds(1.0), "other|1|f32");
  EXPECT_THAT(sets.problems, IsEmpty());
  EXPECT_THAT(sets.baseline, IsEmpty());
}

}  // namespace
}  // namespace plumb::session
