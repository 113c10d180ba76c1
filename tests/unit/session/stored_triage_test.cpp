// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/stored_triage.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "harness/base/error.hpp"
#include "tests/support/noise_series.hpp"
#include "tests/support/result_rows.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::session {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kDay = 86400.0;
constexpr int kKeys = 6;

/// Store of one suite that is measured every night.
class StoredTriage : public testing::Test {
 protected:
  /// Stores a night with a time for each key, and returns its run.
  std::string night(const std::vector<double>& microseconds) {
    const std::string id = fmt::format("01JFKD2M4N5P6Q7R8S9T0V{:04}", nights_);
    results::RunHeader header = test::header(id, kDay * nights_);
    header.environment.facts["label.commit"] = fmt::format("c{:07}", nights_);
    ++nights_;
    std::vector<results::Measurement> rows;
    for (std::size_t i = 0; i < microseconds.size(); ++i) {
      rows.push_back(test::row(test::key(static_cast<int>(i) + 1), microseconds[i]));
    }
    store_->begin_run(header);
    static_cast<void>(store_->append(id, rows));
    store_->finish_run(id, results::RunState::kFinished, test::at(kDay * nights_ - 3600.0));
    return id;
  }

  /// Stores nights of unchanged code.
  void aa_nights(std::size_t count, Noise kind, std::uint64_t seed) {
    NoiseSeries noise(seed);
    std::vector<std::vector<double>> series;
    for (int i = 0; i < kKeys; ++i) {
      series.push_back(noise.make(kind, count));
    }
    for (std::size_t n = 0; n < count; ++n) {
      std::vector<double> times;
      for (const std::vector<double>& each : series) {
        times.push_back(each[n]);
      }
      night(times);
    }
  }

  std::size_t decide(const std::string& name, const TriageDecision& decision) {
    return enter_decision(*store_, {&name, 1}, decision);
  }

  std::vector<analysis::OpenChange::Group> groups() {
    return analysis::group_changes(read_open_changes(*store_, "", ""));
  }

  TemporaryFolder folder_;
  std::unique_ptr<store::Store> store_ =
      store::open_store("sqlite:" + (folder_.path() / "store.db").string());
  int nights_ = 0;
};

TEST_F(StoredTriage, no_change_is_open_after_a_hundred_nights_of_unchanged_code) {
  for (const Noise kind :
       {Noise::kGaussian, Noise::kAutocorrelated, Noise::kOutliers, Noise::kTwoStates}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const TemporaryFolder folder;
      store_ = store::open_store("sqlite:" + (folder.path() / "store.db").string());
      nights_ = 0;
      aa_nights(100, kind, seed);
      EXPECT_THAT(read_open_changes(*store_, "", ""), IsEmpty())
          << "noise " << static_cast<int>(kind) << ", seed " << seed;
      store_.reset();
    }
  }
}

TEST_F(StoredTriage, a_hundred_steady_nights_open_no_change_on_any_night) {
  NoiseSeries noise(1);
  std::vector<std::vector<double>> series;
  for (int i = 0; i < kKeys; ++i) {
    series.push_back(noise.make(Noise::kGaussian, 100));
  }
  for (std::size_t n = 0; n < 100; ++n) {
    std::vector<double> times;
    for (const std::vector<double>& each : series) {
      times.push_back(100.0 + (each[n] - 100.0) / 8.0);  // 0.25 %, as on a quiet machine
    }
    night(times);
    ASSERT_THAT(read_open_changes(*store_, "", ""), IsEmpty()) << "night " << n;
  }
}

TEST_F(StoredTriage, a_commit_that_is_slower_opens_one_group_with_that_commit) {
  aa_nights(20, Noise::kGaussian, 1);
  std::string first;
  for (int n = 0; n < 12; ++n) {
    const double step = 1.0 + 0.002 * (n % 3);
    const std::string run =
        night({150.0 * step, 150.0 * step, 100.0, 100.0 * step, 100.0, 100.0 * step});
    first = first.empty() ? run : first;
  }
  std::vector<analysis::OpenChange::Group> found = groups();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].changes, SizeIs(2));
  ASSERT_FALSE(found[0].causes.empty());
  EXPECT_EQ(found[0].causes[0].after, "c0000020");
  EXPECT_THAT(found[0].families, ElementsAre("eltwise jit"));

  const std::string one = found[0].changes[0].series + "@" + first;
  EXPECT_EQ(decide(one, {.assignee = "ann", .who = "ben"}), 1U);
  EXPECT_EQ(decide("@" + first, {.note = "looks real", .who = "ben"}), 2U);
  found = groups();
  for (const analysis::OpenChange& each : found[0].changes) {
    EXPECT_EQ(each.change.assignee, each.series + "@" + first == one ? "ann" : "");
    ASSERT_THAT(each.change.notes, SizeIs(1));
    EXPECT_EQ(each.change.notes[0].who, "ben");
    EXPECT_EQ(each.change.state, analysis::SeriesChange::State::kDetected);
  }
  const std::vector<analysis::ChangeEvidence> evidence = read_change_evidence(*store_, one);
  ASSERT_THAT(evidence, SizeIs(1));
  EXPECT_EQ(evidence[0].before.environment.facts.at("label.commit"), "c0000019");
  EXPECT_THAT(evidence[0].seconds, SizeIs(32));
  EXPECT_EQ(evidence[0].changed_there, 2U);

  decide(one, {.assignee = "", .who = "ben"});
  decide(one,
         {.state = analysis::SeriesChange::State::kAccepted, .reason = "agreed", .who = "ben"});
  found = groups();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].changes, SizeIs(1));
  decide("@" + first,
         {.state = analysis::SeriesChange::State::kInvalid, .reason = "noise", .who = "ben"});
  EXPECT_THAT(groups(), IsEmpty());
}

TEST_F(StoredTriage, a_wrong_name_or_text_enters_nothing) {
  aa_nights(20, Noise::kGaussian, 1);
  const std::string run = night({100.0, 100.0});
  const TriageDecision accept{.state = analysis::SeriesChange::State::kAccepted, .reason = "x"};
  for (const std::string name : {"", "layers/x", "@nothing"}) {
    EXPECT_THROW(decide(name, accept), Error) << name;
  }
  EXPECT_THROW(decide("@" + run, accept), Error) << "nothing changed there";
  EXPECT_THROW(decide("@" + run, {.note = "two\nlines"}), Error);
  EXPECT_THROW(decide("@" + run, {.note = std::string(2001, 'x')}), Error);
  EXPECT_THROW(decide("@" + run, {.assignee = std::string(101, 'x')}), Error);
  EXPECT_THROW(decide("@" + run, {.state = analysis::SeriesChange::State::kInvalid}), Error);
  EXPECT_THAT(store_->derived(run, "change"), IsEmpty());
}

}  // namespace
}  // namespace plumb::session
