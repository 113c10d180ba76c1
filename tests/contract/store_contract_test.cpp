// SPDX-License-Identifier: Apache-2.0
// What every store does with runs, rows and derived records.
#include "tests/contract/store_contract.hpp"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "harness/results/results_json.hpp"

namespace plumb::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

INSTANTIATE_TEST_SUITE_P(Stores,
                         StoreContract,
                         testing::ValuesIn(store_kinds()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(StoreContract, rows_read_back_the_same_after_reopening) {
  results::Measurement full =
      row(key(8), 12.5, "impl=jit:avx2", results::Purpose::kConfirm, results::CacheMode::kWeights);
  full.library_choice = true;
  full.reference_implementation = true;
  full.summary.min_has_company = true;
  full.creation = Seconds(0.001);
  full.first_call = Seconds(0.002);
  full.reorder = Seconds(0.003);
  full.workspace = Bytes{1 << 20};
  full.maximum_error = 1e-7;
  full.output_hash = "ab12";
  full.disturbance = {5, 0.25, 1.5, 0.125, true};
  full.attempt = 2;
  full.process = 3;
  full.attributes = {{"engine", "62"}, {"notes", "ü"}};
  full.readings = {{"energy_joules", {1.0 / 3.0, 0.25, 0.5, 7}}};
  full.started = at(1.000001);
  const results::Measurement refused =
      failure(key(9), results::Outcome::Kind::kUnsupported, "no bf16 here: ±∞");
  {
    const auto store = open();
    store->begin_run(header(kFirst));
    const std::vector<results::Measurement> rows{full, refused};
    EXPECT_THAT(store->append(kFirst, rows), SizeIs(2));
  }
  const auto store = open();
  const std::vector<results::StoredMeasurement> read = store->measurements(kFirst);
  ASSERT_THAT(read, SizeIs(2));
  EXPECT_EQ(read[0].run, kFirst);
  EXPECT_FALSE(read[0].reused);
  EXPECT_EQ(to_json(read[1].measurement), to_json(refused));
  ASSERT_THAT(read[0].measurement.samples, SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(read[0].measurement.samples[i].count(), full.samples[i].count(), 1.3e-12);
  }
  full.samples = read[0].measurement.samples;
  EXPECT_EQ(to_json(read[0].measurement), to_json(full));
  EXPECT_THAT(store->verify(), IsEmpty());
}

TEST_P(StoreContract, runs_keep_their_header_state_counts_and_tags) {
  const auto store = open();
  store->begin_run(header(kFirst, 0));
  store->begin_run(header(kSecond, 60));
  const std::vector<results::Measurement> rows{
      row(key(1), 5),
      failure(key(2), results::Outcome::Kind::kCrashed, "signal 11"),
      failure(key(3), results::Outcome::Kind::kSkipped, "no time left"),
      failure(key(4), results::Outcome::Kind::kUnstable, "±9%")};
  const std::vector<results::RowId> ids = store->append(kFirst, rows);
  store->finish_run(kFirst, results::RunState::kFinished, at(30));
  store->tag(kFirst, "main");
  store->link_reused(kSecond, std::vector<results::RowId>{ids[0], ids[1], ids[0]});

  const std::vector<results::RunRecord> runs = store->runs();
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_EQ(runs[0].header.id, kSecond) << "newest first";
  EXPECT_EQ(runs[0].state, results::RunState::kRunning);
  EXPECT_EQ(runs[0].finished, std::nullopt);
  EXPECT_EQ(runs[0].rows_reused, 2);
  EXPECT_EQ(runs[0].rows_ok, 0);
  EXPECT_EQ(runs[1].state, results::RunState::kFinished);
  EXPECT_EQ(runs[1].finished, at(30));
  EXPECT_EQ(runs[1].rows_ok, 2) << "unstable rows have a time";
  EXPECT_EQ(runs[1].rows_failed, 1) << "a skip is no failure";
  EXPECT_THAT(runs[1].tags, ElementsAre("main"));
  EXPECT_EQ(runs[1].header.resolved_suite, "");

  const results::RunRecord found = store->find_run(kFirst);
  EXPECT_EQ(to_json(found.header), to_json(header(kFirst, 0)));
  EXPECT_THAT(store->verify(), IsEmpty());
}

TEST_P(StoreContract, find_run_takes_ids_prefixes_tags_and_latest) {
  const auto store = open();
  EXPECT_THAT(error_of(Error::Kind::kUser, [&] { (void)store->find_run("@latest"); }),
              HasSubstr("no run yet"));
  store->begin_run(header(kSecond, 60));
  store->begin_run(header(kFirst, 0));
  store->begin_run(header(kThird, 30));
  store->tag(kThird, "main");
  EXPECT_EQ(store->find_run("@latest").header.id, kSecond);
  EXPECT_EQ(store->find_run(kFirst).header.id, kFirst);
  EXPECT_EQ(store->find_run("01K").header.id, kThird);
  EXPECT_EQ(store->find_run("main").header.id, kThird);
  EXPECT_THAT(error_of(Error::Kind::kUser, [&] { (void)store->find_run("01J"); }),
              testing::AllOf(HasSubstr("several"), HasSubstr(kFirst), HasSubstr(kSecond)));
  EXPECT_THAT(error_of(Error::Kind::kUser, [&] { (void)store->find_run("nightly"); }),
              testing::AllOf(HasSubstr("'nightly'"), HasSubstr(kThird), HasSubstr("main")));
  EXPECT_THAT(error_of(Error::Kind::kUser, [&] { (void)store->find_run(""); }), HasSubstr("''"));
  store->tag(kFirst, "main");
  EXPECT_EQ(store->find_run("main").header.id, kFirst) << "a tag names one run";
}

TEST_P(StoreContract, tags_that_read_as_something_else_are_refused) {
  const auto store = open();
  store->begin_run(header(kFirst));
  for (const std::string& bad : {std::string(),
                                 std::string("@latest"),
                                 std::string("a b"),
                                 std::string(101, 'x'),
                                 std::string("-x"),
                                 std::string(kFirst)}) {
    EXPECT_THAT(error_of(Error::Kind::kUser, [&] { store->tag(kFirst, bad); }),
                HasSubstr("cannot be a tag"));
  }
}

TEST_P(StoreContract, an_interrupted_run_goes_on_and_a_finished_one_does_not) {
  const auto store = open();
  store->begin_run(header(kFirst));
  const std::vector<results::Measurement> rows{row(key(1), 5)};
  store->append(kFirst, rows);
  store->finish_run(kFirst, results::RunState::kInterrupted, at(10));
  EXPECT_EQ(store->find_run(kFirst).state, results::RunState::kInterrupted);
  ASSERT_TRUE(store->take_run(kFirst));
  EXPECT_EQ(store->find_run(kFirst).state, results::RunState::kRunning);
  store->append(kFirst, rows);
  EXPECT_EQ(store->find_run(kFirst).state, results::RunState::kRunning);
  EXPECT_EQ(store->find_run(kFirst).finished, std::nullopt);
  store->finish_run(kFirst, results::RunState::kFinished, at(20));
  EXPECT_THAT(error_of(Error::Kind::kInternal, [&] { store->append(kFirst, rows); }),
              HasSubstr("finished"));
  EXPECT_THAT(store->measurements(kFirst), SizeIs(2));
  EXPECT_THAT(store->verify(), IsEmpty());
}

TEST_P(StoreContract, a_run_id_is_used_once_and_must_exist) {
  const auto store = open();
  store->begin_run(header(kFirst));
  EXPECT_THAT(error_of(Error::Kind::kInternal, [&] { store->begin_run(header(kFirst, 5)); }),
              HasSubstr("already"));
  EXPECT_THAT(error_of(Error::Kind::kInternal, [&] { (void)store->measurements(kSecond); }),
              HasSubstr(kSecond));
  EXPECT_THAT(error_of(Error::Kind::kInternal,
                       [&] { store->link_reused(kFirst, std::vector<results::RowId>{12345}); }),
              HasSubstr("12345"));
}

TEST_P(StoreContract, a_bad_row_keeps_the_whole_batch_out) {
  const auto store = open();
  store->begin_run(header(kFirst));
  std::vector<results::Measurement> rows{row(key(1), 5), row(key(2), 5)};
  rows[1].summary.median = Seconds(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(error_of(Error::Kind::kInternal, [&] { store->append(kFirst, rows); }),
              HasSubstr(key(2).text));
  EXPECT_THAT(store->measurements(kFirst), IsEmpty());
  rows.pop_back();
  store->append(kFirst, rows);
  EXPECT_THAT(store->measurements(kFirst), SizeIs(1));
  EXPECT_THAT(store->verify(), IsEmpty());
}

TEST_P(StoreContract, a_workers_odd_bytes_and_nan_errors_can_be_stored) {
  const auto store = open();
  store->begin_run(header(kFirst));
  results::Measurement wrong =
      failure(key(1), results::Outcome::Kind::kWrongResult, std::string("said \0\xFF\xFE", 8));
  wrong.maximum_error = std::numeric_limits<double>::quiet_NaN();
  wrong.attributes = {{"words", "\xFF"}, {"no name", "x"}};
  wrong.readings = {{"power_watts", {wrong.maximum_error.value(), 0.0, 0.0, 1}}};
  store->append(kFirst, std::vector<results::Measurement>{wrong});
  const std::vector<results::StoredMeasurement> read = store->measurements(kFirst);
  ASSERT_THAT(read, SizeIs(1));
  EXPECT_EQ(read[0].measurement.maximum_error, std::numeric_limits<double>::infinity());
  EXPECT_THAT(read[0].measurement.outcome.reason, HasSubstr("said "));
  EXPECT_EQ(read[0].measurement.attributes, (results::Attributes{{"words", "\uFFFD"}}));
  EXPECT_THAT(read[0].measurement.readings, IsEmpty());
  EXPECT_THAT(store->verify(), IsEmpty());
}

TEST_P(StoreContract, reused_rows_come_with_the_run_and_say_so) {
  const auto store = open();
  store->begin_run(header(kFirst, 0));
  const std::vector<results::RowId> old =
      store->append(kFirst, std::vector<results::Measurement>{row(key(1), 5), row(key(2), 6)});
  store->begin_run(header(kSecond, 60));
  store->append(kSecond, std::vector<results::Measurement>{row(key(3), 7)});
  store->link_reused(kSecond, std::vector<results::RowId>{old[1]});
  const std::vector<results::StoredMeasurement> rows = store->measurements(kSecond);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].row, old[1]);
  EXPECT_TRUE(rows[0].reused);
  EXPECT_EQ(rows[0].run, kFirst);
  EXPECT_EQ(rows[0].measurement.key, key(2));
  EXPECT_FALSE(rows[1].reused);
  EXPECT_THAT(store->verify(), IsEmpty());
}

TEST_P(StoreContract, derived_records_read_back_once_each) {
  const auto store = open();
  store->begin_run(header(kFirst, 0));
  store->begin_run(header(kSecond, 60));
  const std::vector<results::RowId> rows =
      store->append(kFirst, std::vector<results::Measurement>{row(key(1), 5), row(key(2), 6)});
  results::DerivedRecord bound{
      kFirst, "bound", "lenet|1|f32", "1", {rows[1], rows[0]}, R"({"s":1})", at(5)};
  store->put_derived(std::vector<results::DerivedRecord>{bound});
  bound.computed = at(6);
  store->put_derived(std::vector<results::DerivedRecord>{bound});
  bound.analysis_version = "2";
  store->put_derived(std::vector<results::DerivedRecord>{bound});
  const std::vector<results::DerivedRecord> read = store->derived(kFirst, "bound");
  ASSERT_THAT(read, SizeIs(2)) << "the same again but for the time is not stored";
  EXPECT_EQ(read[0].analysis_version, "1");
  EXPECT_EQ(read[0].computed, at(5));
  EXPECT_EQ(read[0].payload, R"({"s":1})");
  EXPECT_THAT(read[0].inputs, ElementsAre(rows[0], rows[1]));
  EXPECT_EQ(read[1].analysis_version, "2");
  EXPECT_THAT(store->derived(kFirst, "whatif"), IsEmpty());
  EXPECT_THAT(store->derived(kSecond, "bound"), IsEmpty());
  EXPECT_THAT(store->verify(), IsEmpty());
}

TEST_P(StoreContract, records_of_many_runs_are_read_at_once) {
  const auto store = open();
  constexpr int kRuns = 450;  // more than one statement takes
  std::vector<results::RunId> runs;
  for (int i = 0; i < kRuns; ++i) {
    runs.push_back(fmt::format("01J{:023}", i));
    store->begin_run(header(runs.back(), i));
    store->finish_run(runs.back(), results::RunState::kFinished, at(i));
    const results::DerivedRecord record{runs.back(),
                                        "controls",
                                        "boot",
                                        "1",
                                        {},
                                        R"({"floor_seconds":1e-7,)"
                                        R"("product_seconds":1e-3,"copy_seconds":1e-3})",
                                        at(i)};
    store->put_derived({&record, 1});
  }
  EXPECT_THAT(store->derived_of_runs({}, "controls"), IsEmpty());
  EXPECT_THAT(store->derived_of_runs(runs, "bound"), IsEmpty());
  const auto some = std::span(runs).subspan(5, kRuns - 10);
  const std::vector<results::DerivedRecord> read = store->derived_of_runs(some, "controls");
  ASSERT_THAT(read, SizeIs(some.size()));
  std::set<results::RunId> found;
  for (const results::DerivedRecord& record : read) {
    found.insert(record.run);
    EXPECT_EQ(record.subject, "boot");
  }
  EXPECT_EQ(found, std::set<results::RunId>(some.begin(), some.end()));
}

TEST_P(StoreContract, the_newest_calibration_of_an_environment_is_found) {
  const auto store = open();
  store->begin_run(header(kFirst, 0));
  store->begin_run(header(kSecond, 60));
  store->begin_run(header(kThird, 90, "Epyc"));
  const auto put = [&](const char* run, const char* payload, double seconds) {
    store->put_derived(std::vector<results::DerivedRecord>{
        {run, "calibration", "", "1", {}, payload, at(seconds)}});
  };
  put(kFirst, R"({"peak":1})", 10);
  put(kSecond, R"({"peak":2})", 70);
  put(kThird, R"({"peak":3})", 95);
  const std::string xeon = header(kFirst).environment.id();
  EXPECT_EQ(store->latest_calibration(xeon)->payload, R"({"peak":2})");
  EXPECT_EQ(store->latest_calibration(header(kThird, 0, "Epyc").environment.id())->run, kThird);
  EXPECT_FALSE(store->latest_calibration("0123456789abcdef").has_value());
}

TEST_P(StoreContract, a_reader_sees_that_something_was_stored) {
  const auto writer = open();
  const std::string url = GetParam().url(folder_.path() / "store");
  const auto reader = store::open_store(url, {.migrate = false, .read_only = true});
  const std::int64_t before = reader->revision();
  EXPECT_EQ(reader->revision(), before);
  writer->begin_run(header(kFirst));
  EXPECT_NE(reader->revision(), before);
  EXPECT_EQ(reader->runs().size(), 1U);
  EXPECT_THAT(error_of(Error::Kind::kEnvironment, [&] { reader->begin_run(header(kSecond)); }),
              HasSubstr("writable"));
}

}  // namespace
}  // namespace plumb::test
