// SPDX-License-Identifier: Apache-2.0
#include "harness/session/paired/paired_rounds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/base/ulid.hpp"
#include "harness/session/work/executor.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::session {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const model::LayerKey kFirst{"v1:first"};
const model::LayerKey kSecond{"v1:second"};

/// Two stacks of the fake worker with one store.
class PairedRoundsTest : public testing::Test {
 protected:
  PairedRounds::Side side(const std::string& name, const std::string& script = "") {
    const std::filesystem::path file = folder_.path() / (name + ".toml");
    std::ofstream(file) << script;
    PairedRounds::Side side;
    side.worker.stack.name = name;
    side.worker.stack.backend = "fake";
    side.worker.stack.variables = {{"PLUMB_FAKE_SCRIPT", file.string()}};
    results::RunHeader header;
    header.id = side.run = new_ulid();
    header.suite = "test";
    header.stack = name;
    header.started = current_time();
    store_->begin_run(header);
    return side;
  }

  PairedRounds rounds(PairedRounds::Side baseline, PairedRounds::Side candidate) {
    return {*store_, std::move(baseline), std::move(candidate), Seconds(60.0), stop_};
  }

  TemporaryFolder folder_;
  std::unique_ptr<store::Store> store_ =
      store::open_store("sqlite:" + (folder_.path() / "store.db").string());
  std::atomic<bool> stop_{false};
  PairedRounds::Work work_{{kFirst, kSecond}, {}};
  const std::function<void(const std::string&)> quiet_ = [](const std::string&) {};
};

TEST_F(PairedRoundsTest, measures_the_choice_of_both_in_abba_order_and_keeps_every_row) {
  const PairedRounds::Side baseline = side("old");
  const PairedRounds::Side candidate =
      side("new",
           "[[rule]]\nmatch = \"*first\"\nvariant = \"*direct\"\nseconds = 0.5\n"
           "[[rule]]\nmatch = \"control:copy\"\nvariant = \"*direct\"\nseconds = 7e-3\n");
  PairedRounds pairs = rounds(baseline, candidate);
  std::vector<std::string> order;
  std::vector<results::PairedRound> done;
  for (int i = 0; i < 2; ++i) {
    done.push_back(pairs.measure(work_, [&](const std::string& what) {
      if (what.find("controls") != std::string::npos) {
        order.push_back(what.substr(0, 3));
      }
    }));
  }
  EXPECT_EQ(order.front(), "old");
  EXPECT_EQ(order[1], "new");
  ASSERT_EQ(order.size() % 4, 0U);
  EXPECT_EQ(order[order.size() / 2], "new") << "the second round begins with the other side";
  EXPECT_EQ(order[order.size() / 2 + 1], "old");
  EXPECT_TRUE(done[0].baseline_first);
  EXPECT_FALSE(done[1].baseline_first);
  for (const results::PairedRound& round : done) {
    EXPECT_TRUE(round.complete);
    ASSERT_EQ(round.baseline.layers.size(), 2U);
    EXPECT_EQ(round.candidate.layers.at(kFirst).summary.median, Seconds(0.5));
    EXPECT_LT(round.baseline.layers.at(kFirst).summary.median, Seconds(0.1));
    EXPECT_EQ(round.baseline.layers.at(kFirst).variant, "algorithm=direct");
    EXPECT_EQ(round.candidate.controls->copy, Seconds(7e-3));
  }
  std::vector<results::StoredMeasurement> rows = store_->measurements(candidate.run);
  EXPECT_EQ(std::count_if(rows.begin(),
                          rows.end(),
                          [](const results::StoredMeasurement& row) {
                            return row.measurement.key.text == results::kCopyKey &&
                                   row.measurement.purpose == results::Purpose::kFull &&
                                   row.measurement.variant == "algorithm=direct";
                          }),
            2);
  std::erase_if(rows, [](const results::StoredMeasurement& row) {
    return row.measurement.key.text.starts_with(results::kControlPrefix);
  });
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_FALSE(rows[0].measurement.samples.empty());
  EXPECT_EQ(rows[0].measurement.process, 1);
  EXPECT_EQ(rows[3].measurement.process, 2);
}

TEST_F(PairedRoundsTest, a_worker_that_dies_costs_its_row_and_no_more) {
  PairedRounds pairs =
      rounds(side("old"), side("new", "[[rule]]\nmatch = \"*first\"\naction = \"crash\"\n"));
  const results::PairedRound round = pairs.measure(work_, quiet_);
  EXPECT_TRUE(round.complete);
  EXPECT_EQ(round.candidate.crashes, 1);
  EXPECT_EQ(round.candidate.layers.at(kFirst).outcome.kind, results::Outcome::Kind::kCrashed);
  EXPECT_TRUE(round.candidate.layers.at(kSecond).outcome.timed());
  EXPECT_EQ(round.baseline.crashes, 0);
}

TEST_F(PairedRoundsTest, keeps_what_a_library_refuses_and_says_why) {
  PairedRounds pairs = rounds(
      side("old"),
      side("new", "[[rule]]\nmatch = \"*first\"\noutcome = \"unsupported\"\nreason = \"gone\"\n"));
  const results::PairedRound round = pairs.measure(work_, quiet_);
  EXPECT_EQ(round.candidate.layers.at(kFirst).outcome.kind, results::Outcome::Kind::kUnsupported);
  EXPECT_THAT(round.candidate.layers.at(kFirst).outcome.reason, HasSubstr("gone"));
}

TEST_F(PairedRoundsTest, models_take_turns_until_both_sides_are_complete) {
  const std::string script = "[[rule]]\nmatch = \"model:*\"\nvariant = \"plain\"\nseconds = 0.5\n";
  const std::string dies =
      "[[rule]]\nmatch = \"model:*\"\nvariant = \"fusion\"\naction = \"crash\"\n";
  const std::string lives = "[[rule]]\nmatch = \"model:*\"\nvariant = \"fusion\"\nseconds = 0.4\n";
  work_.layers.clear();
  work_.models.resize(1);
  work_.models[0].subject = "any";
  work_.models[0].request.name = "any";
  work_.models[0].request.modes = {{}, {{.fusion = true}, {}}};
  const PairedRounds::Side baseline = side("old", script + lives);
  PairedRounds pairs = rounds(baseline, side("new", script + dies));
  const results::PairedRound round = pairs.measure(work_, quiet_);
  EXPECT_TRUE(round.complete);
  ASSERT_EQ(round.baseline.models.size(), 2U);
  EXPECT_EQ(round.baseline.models.at({"any", "fusion"}).row.summary.median, Seconds(0.4));
  ASSERT_EQ(round.candidate.models.size(), 2U);
  EXPECT_TRUE(round.candidate.models.at({"any", "plain"}).row.outcome.timed());
  EXPECT_EQ(round.candidate.models.at({"any", "fusion"}).row.outcome.kind,
            results::Outcome::Kind::kCrashed);
  EXPECT_EQ(round.candidate.crashes, 1);
  EXPECT_EQ(store_->derived(baseline.run, "paired_execution").size(), 2U);
}

TEST_F(PairedRoundsTest, stops_within_a_round_and_says_so) {
  const PairedRounds::Side baseline = side("old");
  PairedRounds pairs = rounds(baseline, side("new"));
  const results::PairedRound round = pairs.measure(work_, [&](const std::string& what) {
    if (what.find("layers") != std::string::npos) {
      stop_.store(true);
    }
  });
  EXPECT_FALSE(round.complete);
  EXPECT_EQ(round.candidate.layers.size(), 1U);
  std::vector<results::StoredMeasurement> rows = store_->measurements(baseline.run);
  std::erase_if(rows, [](const results::StoredMeasurement& row) {
    return row.measurement.key.text.starts_with(results::kControlPrefix);
  });
  EXPECT_EQ(rows.size(), 1U);
}

}  // namespace
}  // namespace plumb::session
