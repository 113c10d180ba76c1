// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/history/series_history.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace plumb::analysis {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string run_name(std::size_t index) {
  return fmt::format("R{:03}", index);
}

/// Levels of 20 runs each, which scatter by half a percent in a fixed pattern.
SuiteHistory::Series history(std::initializer_list<double> levels) {
  SuiteHistory::Series result{"layers/a", {}};
  for (const double level : levels) {
    for (int i = 0; i < 20; ++i) {
      const std::size_t n = result.points.size();
      result.points.push_back(
          {run_name(n), level * (1.0 + 0.005 * (static_cast<double>(n * 7 % 11) / 5.0 - 1.0))});
    }
  }
  return result;
}

SeriesChange::Record entry(std::size_t run,
                           SeriesChange::State state,
                           double before,
                           double after) {
  return {"layers/a", run_name(run), state, "because", before, after};
}

TEST(SeriesHistory, a_new_change_is_entered_once) {
  const SeriesFinding finding = judge_series(history({1.0, 1.1}), {});
  ASSERT_THAT(finding.changes, SizeIs(1));
  EXPECT_EQ(finding.changes[0].run, run_name(20));
  EXPECT_EQ(finding.changes[0].run_before, run_name(19));
  EXPECT_TRUE(finding.changes[0].is_open());
  ASSERT_THAT(finding.news, SizeIs(1));
  EXPECT_EQ(finding.news[0].state, SeriesChange::State::kDetected);
  EXPECT_THAT(judge_series(history({1.0, 1.1}), finding.news).news, IsEmpty());
}

TEST(SeriesHistory, a_decision_holds_even_if_the_place_moves) {
  const SeriesChange::Record accepted = entry(22, SeriesChange::State::kAccepted, 1.0, 1.1);
  const SeriesFinding finding = judge_series(history({1.0, 1.1}), {{accepted}});
  ASSERT_THAT(finding.changes, SizeIs(1));
  EXPECT_EQ(finding.changes[0].run, run_name(22)) << "the book names the change";
  EXPECT_EQ(finding.changes[0].state, SeriesChange::State::kAccepted);
  EXPECT_EQ(finding.changes[0].reason, "because");
  EXPECT_FALSE(finding.changes[0].is_open());
  EXPECT_THAT(finding.news, IsEmpty());
}

TEST(SeriesHistory, another_change_near_an_accepted_one_is_its_own) {
  const SeriesChange::Record improvement = entry(20, SeriesChange::State::kAccepted, 1.1, 1.0);
  const SeriesFinding both = judge_series(history({1.0, 1.1}), {{improvement}});
  ASSERT_THAT(both.changes, SizeIs(2)) << "the other direction is another change";
  EXPECT_NE(both.changes[0].is_open(), both.changes[1].is_open());
  const SeriesChange::Record far = entry(30, SeriesChange::State::kAccepted, 1.0, 1.1);
  const SeriesFinding finding = judge_series(history({1.0, 1.1}), {{far}});
  ASSERT_THAT(finding.changes, SizeIs(2));
  EXPECT_EQ(finding.changes[0].state, SeriesChange::State::kDetected);
  EXPECT_EQ(finding.changes[1].state, SeriesChange::State::kAccepted) << "a decision is never lost";
  EXPECT_FALSE(finding.changes[1].confidence.has_value());
}

TEST(SeriesHistory, the_last_entry_counts_and_other_series_do_not) {
  const std::vector<SeriesChange::Record> book{
      entry(20, SeriesChange::State::kAccepted, 1.0, 1.1),
      entry(20, SeriesChange::State::kInvalid, 1.0, 1.1),
      {"layers/b", run_name(20), SeriesChange::State::kConfirmed, "", 1.0, 1.1}};
  EXPECT_EQ(judge_series(history({1.0, 1.1}), book).changes[0].state,
            SeriesChange::State::kInvalid);
}

TEST(SeriesHistory, what_later_runs_refute_went_away) {
  const SeriesChange::Record detected = entry(20, SeriesChange::State::kDetected, 1.0, 1.1);
  const SeriesFinding finding = judge_series(history({1.0, 1.0}), {{detected}});
  ASSERT_THAT(finding.news, SizeIs(1));
  EXPECT_EQ(finding.news[0].state, SeriesChange::State::kWentAway);
  EXPECT_FALSE(finding.changes[0].is_open());
  EXPECT_THAT(judge_series(history({1.0, 1.0}), finding.news).changes, IsEmpty());
  const SeriesFinding back = judge_series(history({1.0, 1.1}), finding.news);
  EXPECT_EQ(back.changes[0].state, SeriesChange::State::kDetected) << "it came again";
}

TEST(SeriesHistory, a_level_that_came_back_is_fixed) {
  const SeriesFinding finding = judge_series(history({1.0, 1.1, 1.0}), {});
  ASSERT_THAT(finding.changes, SizeIs(2));
  EXPECT_EQ(finding.changes[0].state, SeriesChange::State::kFixed);
  EXPECT_EQ(finding.changes[1].state, SeriesChange::State::kDetected);
  EXPECT_FALSE(finding.changes[1].is_open()) << "faster";
  EXPECT_EQ(judge_series(history({1.0, 1.1, 1.06}), {}).changes[0].state,
            SeriesChange::State::kDetected)
      << "less than half of it came back";
}

TEST(SeriesHistory, creep_is_judged_against_the_best_accepted_level) {
  SuiteHistory::Series slow{"layers/a", {}};
  for (std::size_t i = 0; i < 120; ++i) {
    slow.points.push_back({run_name(i),
                           (1.0 + 0.1 * static_cast<double>(i) / 120.0) *
                               (1.0 + 0.005 * (static_cast<double>(i * 7 % 11) / 5.0 - 1.0))});
  }
  const SeriesFinding creeping = judge_series(slow, {});
  const bool open =
      std::any_of(creeping.changes.begin(), creeping.changes.end(), [](const SeriesChange& change) {
        return change.is_open() && change.after > 1.05 * change.before;
      });
  EXPECT_FALSE(open);
  ASSERT_TRUE(creeping.creep.has_value());
  EXPECT_LT(creeping.creep_since, run_name(20));
  const SeriesFinding accepted =
      judge_series(slow, {{entry(60, SeriesChange::State::kAccepted, 1.0, 1.05)}});
  EXPECT_FALSE(accepted.creep.has_value()) << "half of the rise was accepted";
}

TEST(SeriesHistory, states_have_names) {
  for (const SeriesChange::State state : kChangeStates) {
    EXPECT_EQ(parse_change_state(to_text(state)), state);
  }
  EXPECT_FALSE(parse_change_state("gone").has_value());
}

}  // namespace
}  // namespace plumb::analysis
