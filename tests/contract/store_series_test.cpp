// SPDX-License-Identifier: Apache-2.0
// What every store answers about history: series, and what can be reused.
#include <fmt/format.h>

#include "harness/store/sqlite/sqlite_connection.hpp"
#include "tests/contract/store_contract.hpp"

namespace plumb::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class StoreSeries : public StoreContract {};

INSTANTIATE_TEST_SUITE_P(Stores,
                         StoreSeries,
                         testing::ValuesIn(store_kinds()),
                         [](const auto& tested) { return tested.param.name; });

std::string xeon() {
  return header("x").environment.id();
}
std::string epyc() {
  return header("x", 0, "Epyc").environment.id();
}

void add_run(store::Store& store,
             const results::RunHeader& run,
             const std::vector<results::Measurement>& rows) {
  store.begin_run(run);
  store.append(run.id, rows);
  store.finish_run(run.id, results::RunState::kFinished, run.started);
}

TEST_P(StoreSeries, a_series_has_one_point_a_run_oldest_first) {
  const auto store = open();
  // Stored in another order than they ran in: an import does that.
  add_run(*store, header(kSecond, 200), {row(key(1), 30), row(key(2), 1)});
  add_run(*store, header(kFirst, 100), {row(key(1), 20)});
  add_run(*store, header(kThird, 300, "Epyc"), {row(key(1), 10)});
  const std::vector<store::Store::SeriesQuery::Point> all =
      store->series({key(1).text, results::CacheMode::kNone, {}});
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].run, kFirst);
  EXPECT_EQ(all[1].run, kSecond);
  EXPECT_EQ(all[2].run, kThird);
  EXPECT_EQ(all[2].environment, epyc());
  EXPECT_EQ(all[0].started, at(100));
  EXPECT_EQ(all[0].stack, "default");
  EXPECT_EQ(all[0].corrected.n, 3U);
  EXPECT_NEAR(all[0].corrected.median.count(), 19.9e-6, 1e-12) << "less the floor of 0.1 µs";
  EXPECT_NEAR(all[0].corrected.interval.high.count(), 21.9e-6, 1e-12);
  EXPECT_THAT(store->series({key(1).text, results::CacheMode::kNone, xeon()}), SizeIs(2));
  EXPECT_THAT(store->series({key(1).text, results::CacheMode::kWeights, {}}), IsEmpty());
  EXPECT_THAT(store->series({key(7).text, results::CacheMode::kNone, {}}), IsEmpty());
}

TEST_P(StoreSeries, a_point_is_the_confirmed_best_else_the_fastest_full_row) {
  const auto store = open();
  add_run(*store,
          header(kFirst, 0),
          {row(key(1), 5, "race", results::Purpose::kRace),
           row(key(1), 12, "slow"),
           row(key(1), 9, "fast"),
           failure(key(1), results::Outcome::Kind::kCrashed, "signal 11")});
  add_run(*store,
          header(kSecond, 60),
          {row(key(1), 9, "fast"),
           row(key(1), 10, "slow"),
           row(key(1), 11, "fast", results::Purpose::kConfirm),
           row(key(1), 10.5, "slow", results::Purpose::kConfirm)});
  const std::vector<store::Store::SeriesQuery::Point> points =
      store->series({key(1).text, results::CacheMode::kNone, {}});
  ASSERT_THAT(points, SizeIs(2));
  EXPECT_EQ(points[0].variant, "fast");
  EXPECT_NEAR(points[0].corrected.median.count(), 8.9e-6, 1e-12);
  EXPECT_EQ(points[1].variant, "slow") << "the winner's curse: the confirmation decides";
  EXPECT_NEAR(points[1].corrected.median.count(), 10.4e-6, 1e-12);
}

TEST_P(StoreSeries, of_several_processes_the_middle_one_is_the_point) {
  const auto store = open();
  std::vector<results::Measurement> rows{
      row(key(1), 14), row(key(1), 10), row(key(1), 12), row(key(1), 13, "other")};
  for (std::size_t process = 0; process < rows.size(); ++process) {
    rows[process].process = static_cast<std::int64_t>(process);
  }
  add_run(*store, header(kFirst, 0), rows);
  const std::vector<store::Store::SeriesQuery::Point> points =
      store->series({key(1).text, results::CacheMode::kNone, {}});
  ASSERT_THAT(points, SizeIs(1));
  EXPECT_NEAR(points[0].corrected.median.count(), 11.9e-6, 1e-12) << "not the luckiest process";
}

TEST_P(StoreSeries, a_key_may_have_any_text) {
  const auto store = open();
  const model::LayerKey odd{R"(it's a ? \ "key" of $1 ''; -- ü)"};
  add_run(*store, header(kFirst, 100), {row(odd, 20), row({odd.text + "'"}, 30)});
  const std::vector<store::Store::SeriesQuery::Point> points =
      store->series({odd.text, results::CacheMode::kNone, {}});
  ASSERT_THAT(points, SizeIs(1));
  EXPECT_NEAR(points[0].corrected.median.count(), 19.9e-6, 1e-12);
  EXPECT_EQ(store->measurements(kFirst).at(0).measurement.key, odd);
}

TEST_P(StoreSeries, a_long_history_is_whole_and_in_order) {
  const auto store = open();
  // More runs than are read at a time; the later one is stored, the earlier it started.
  constexpr int kRuns = 1002;
  for (int i = 0; i < kRuns; ++i) {
    add_run(*store, header(fmt::format("01J{:023}", i), 10'000 - i), {row(key(1), 20)});
  }
  const auto points = store->series({key(1).text, results::CacheMode::kNone, {}});
  ASSERT_THAT(points, SizeIs(kRuns));
  for (int i = 0; i < kRuns; ++i) {
    EXPECT_EQ(points[static_cast<std::size_t>(i)].run, fmt::format("01J{:023}", kRuns - 1 - i));
  }
}

TEST_P(StoreSeries, a_damaged_row_leaves_the_store_usable) {
  const auto store = open();
  add_run(*store, header(kFirst, 100), std::vector<results::Measurement>(5000, row(key(1), 20)));
  add_run(*store, header(kSecond, 200), {row(key(2), 30)});
  const std::string damage = "update measurements set median_seconds = 1 where id % 5000 = 100";
  if (GetParam().name == "postgresql") {
    run_postgresql(GetParam().url(folder_.path() / "store"), damage);
  } else {
    store::SqliteConnection(folder_.path() / "store" / "store.db").execute(damage);
  }
  for (int repeated = 0; repeated < 2; ++repeated) {
    const std::string why =
        error_of(Error::Kind::kEnvironment, [&] { (void)store->measurements(kFirst); });
    EXPECT_THAT(why, testing::HasSubstr("checksum"));
    EXPECT_THAT(why,
                testing::EndsWith("to restore, " +
                                  store::restore_advice(GetParam().url(folder_.path() / "store"))));
    EXPECT_THAT(store->measurements(kSecond), SizeIs(1));
    EXPECT_THAT(store->series({key(2).text, results::CacheMode::kNone, {}}), SizeIs(1));
  }
  add_run(*store, header(kThird, 300), {row(key(2), 30)});
  EXPECT_THAT(store->runs(), SizeIs(3));
}

TEST_P(StoreSeries, reusable_rows_are_the_newest_complete_set_of_each_key) {
  const auto store = open();
  const model::LayerKey refused = key(3);
  add_run(*store,
          header(kFirst, 0),
          {row(key(1), 5, "old"),
           row(key(2), 6),
           failure(refused, results::Outcome::Kind::kUnsupported, "no")});
  add_run(*store,
          header(kSecond, 60),
          {row(key(1), 5, "race", results::Purpose::kRace),
           row(key(1), 5, "a"),
           row(key(1), 5, "a", results::Purpose::kConfirm),
           failure(key(1), results::Outcome::Kind::kUnsupported, "b", results::Purpose::kRace),
           failure(key(2), results::Outcome::Kind::kTimedOut, "60 s"),
           row(key(4), 5, "race", results::Purpose::kRace)});
  const std::vector<model::LayerKey> keys{key(1), key(2), refused, key(4), key(5)};
  const auto rows = store->reusable(xeon(), keys, results::CacheMode::kNone, {});
  ASSERT_THAT(rows, SizeIs(5));
  EXPECT_EQ(rows[0].measurement.variant, "a");
  EXPECT_EQ(rows[1].measurement.purpose, results::Purpose::kConfirm);
  EXPECT_EQ(rows[2].measurement.outcome.reason, "b") << "a variant's refusal comes along";
  EXPECT_EQ(rows[3].run, kFirst) << "a time-out does not settle a key";
  EXPECT_EQ(rows[3].measurement.key, key(2));
  EXPECT_EQ(rows[4].measurement.key, refused);
  EXPECT_THAT(store->reusable(epyc(), keys, results::CacheMode::kNone, {}), IsEmpty());
  EXPECT_THAT(store->reusable(xeon(), keys, results::CacheMode::kWeights, {}), IsEmpty());
  EXPECT_THAT(store->reusable(xeon(), {}, results::CacheMode::kNone, {}), IsEmpty());
}

TEST_P(StoreSeries, rows_that_are_too_old_are_not_reusable) {
  const auto store = open();
  results::Measurement early = row(key(1), 5, "a");
  early.started = at(1000);
  results::Measurement late = row(key(1), 6, "b");
  late.started = at(2000);
  results::Measurement other = row(key(2), 6);
  other.started = at(2000);
  add_run(*store, header(kFirst, 1000), {early, late, other});
  const std::vector<model::LayerKey> keys{key(1), key(2)};
  EXPECT_THAT(store->reusable(xeon(), keys, results::CacheMode::kNone, at(1000)), SizeIs(3));
  const auto rows = store->reusable(xeon(), keys, results::CacheMode::kNone, at(1500));
  ASSERT_THAT(rows, SizeIs(1)) << "one old row makes its key's set too old";
  EXPECT_EQ(rows[0].measurement.key, key(2));
}

}  // namespace
}  // namespace plumb::test
