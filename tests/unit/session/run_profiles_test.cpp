// SPDX-License-Identifier: Apache-2.0
#include "harness/session/profile/run_profiles.hpp"

#include <gmock/gmock.h>

#include "harness/base/timestamp.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "tests/unit/session/profiled_models.hpp"

namespace plumb::session {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class RunProfilesTest : public ProfiledModels {
 protected:
  RunProfiles::Record take(const std::string& backend,
                           Seconds allowed,
                           std::map<std::string, std::string> variables = {}) {
    const worker::WorkerProcess::Options options = worker(backend, std::move(variables));
    const SessionContext session = context();
    return RunProfiles(session, run_, {options, Seconds(0.05)}, suite_, models_, {})
        .take({0}, allowed);
  }

  results::RunId run_ = begin_run();
};

TEST_F(RunProfilesTest, one_takes_samples_of_the_mode_fusion_within_its_time) {
  need_onednn();
  if (IsSkipped()) {
    return;
  }
  execute(run_, "plain");
  execute(run_, "fusion");
  const RunProfiles::Record record = take("onednn", Seconds(3.0));
  EXPECT_EQ(record.reason, "");
  EXPECT_EQ(record.profiled, 1U);
  EXPECT_EQ(record.allowed, Seconds(3.0));
  EXPECT_LE(record.spent, 1.1 * record.allowed) << "names may take longer on a busy machine";
  EXPECT_GT(record.spent, Seconds(1.0)) << "the time is for samples";
  const auto profiles = store_->profiles(run_);
  ASSERT_THAT(profiles, SizeIs(1));
  EXPECT_EQ(profiles[0].subject, subject_);
  EXPECT_EQ(profiles[0].profile.mode, "fusion");
  EXPECT_EQ(profiles[0].profile.stack, "default");
  EXPECT_EQ(profiles[0].profile.asked_rate, kPassRate);
  EXPECT_FALSE(profiles[0].profile.cells.empty());

  const RunProfiles::Record again = take("onednn", Seconds(3.0));
  EXPECT_EQ(again.models, 0U) << "the model has its profile";
  EXPECT_THAT(store_->profiles(run_), SizeIs(1));
}

TEST_F(RunProfilesTest, a_model_that_the_run_did_not_time_is_not_profiled) {
  const RunProfiles::Record record = take("fake", Seconds(5.0));
  EXPECT_EQ(record.models, 0U);
  EXPECT_EQ(record.reason, "");
}

TEST_F(RunProfilesTest, a_model_that_would_take_longer_is_left_out) {
  execute(run_, "fusion", Seconds(100.0));
  const RunProfiles::Record record = take("fake", Seconds(5.0));
  EXPECT_EQ(record.models, 1U);
  EXPECT_EQ(record.profiled, 0U);
  EXPECT_THAT(record.reason, HasSubstr("1 of 1 models would take longer than the 5 s"));
  EXPECT_LT(record.spent, Seconds(1.0)) << "no worker was started";
}

TEST_F(RunProfilesTest, what_a_worker_refuses_is_the_reason) {
  execute(run_, "plain");
  const RunProfiles::Record record = take("fake", Seconds(5.0));
  EXPECT_EQ(record.profiled, 0U);
  EXPECT_THAT(record.reason, AllOf(HasSubstr(subject_), HasSubstr("cannot be sampled")));
  EXPECT_THAT(store_->profiles(run_), IsEmpty());
}

TEST_F(RunProfilesTest, a_worker_that_is_not_ready_when_the_time_ends_is_killed) {
  execute(run_, "plain");
  const RunProfiles::Record record =
      take("misbehaving", Seconds(1.5), {{"PLUMB_MISBEHAVE", "hang"}});
  EXPECT_EQ(record.profiled, 0U);
  EXPECT_THAT(record.reason, HasSubstr("when the time of the pass ended"));
  EXPECT_GE(record.spent, record.allowed);
  EXPECT_LT(record.spent, Seconds(5.0));
}

TEST_F(RunProfilesTest, a_stopped_run_takes_none) {
  execute(run_, "plain");
  stop_ = true;
  EXPECT_EQ(take("fake", Seconds(5.0)).profiled, 0U);
}

}  // namespace
}  // namespace plumb::session
