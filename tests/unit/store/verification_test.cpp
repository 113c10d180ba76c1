// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <optional>
#include <sstream>

#include "harness/base/error.hpp"
#include "harness/store/sqlite/sqlite_connection.hpp"
#include "harness/store/store.hpp"
#include "harness/store/tables/table_store.hpp"
#include "tests/support/result_rows.hpp"
#include "tests/support/sample_profile.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::store {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class VerificationTest : public testing::Test {
 protected:
  VerificationTest() {
    const auto store = open_store(url());
    store->begin_run(test::header(kRun));
    std::vector<results::Measurement> rows;
    for (int i = 1; i <= 50; ++i) {
      rows.push_back(test::row(test::key(i), i));
    }
    rows[0].attributes = {{"engine", "62"}};
    rows[0].readings = {{"power_watts", {310.0, 309.0, 312.0, 3}}};
    const std::vector<results::RowId> ids = store->append(kRun, rows);
    store->put_derived(std::vector<results::DerivedRecord>{
        {kRun, "bound", "lenet|1|f32", "1", {ids[0]}, "{}", test::at(5)}});
    store->tag(kRun, "main");
  }
  [[nodiscard]] std::string url() const { return "sqlite:" + path_.string(); }
  /// Changes the file behind the store's back and returns what verify finds.
  [[nodiscard]] std::vector<std::string> faults_after(const std::string& sql) const {
    {
      SqliteConnection connection(path_);
      connection.execute(sql);
    }
    return open_store(url())->verify();
  }

  static std::optional<Error::Kind> kind_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("-wal and -shm"));
      return error.kind();
    }
    return std::nullopt;
  }

  static constexpr const char* kRun = "01J00000000000000000000001";
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "store.db";
};

TEST_F(VerificationTest, a_sound_store_has_no_faults) {
  EXPECT_THAT(open_store(url())->verify(), IsEmpty());
}

TEST_F(VerificationTest, every_column_of_a_row_is_guarded) {
  for (const char* const change : {"cache = 'all'",
                                   "purpose = 'race'",
                                   "outcome = 'unstable'",
                                   "reason = 'x'",
                                   "library_choice = 1",
                                   "reference_implementation = 1",
                                   "repetitions = 5",
                                   "n = 4",
                                   "median_seconds = median_seconds * 1.0000001",
                                   "low_seconds = 0",
                                   "high_seconds = 1",
                                   "min_seconds = 0",
                                   "p90_seconds = 1",
                                   "mean_seconds = 1",
                                   "min_has_company = 1",
                                   "floor_seconds = 0",
                                   "creation_seconds = 0",
                                   "first_call_seconds = 0",
                                   "reorder_seconds = 0",
                                   "workspace_bytes = 1",
                                   "maximum_error = 0",
                                   "output_hash = 'a'",
                                   "involuntary_switches = 1",
                                   "steal_ratio = 0",
                                   "load = 0",
                                   "pressure_ratio = 0",
                                   "disturbed = 1",
                                   "attempt = 2",
                                   "process = 1",
                                   "started = started + 1",
                                   "wall_seconds = 0",
                                   "attributes = null",
                                   "readings = null",
                                   "checksum = checksum + 1",
                                   "layer_key = 2"}) {
    const std::string one = " where id = 4294967296";
    {
      SqliteConnection connection(path_);
      connection.execute("create table kept as select * from measurements" + one);
      connection.execute(std::string("update measurements set ") + change + one);
    }
    EXPECT_THAT(open_store(url())->verify(), Contains(HasSubstr("row 4294967296"))) << change;
    SqliteConnection connection(path_);
    connection.execute("delete from measurements" + one +
                       "; insert into measurements select * from kept; drop table kept");
  }
  EXPECT_THAT(open_store(url())->verify(), IsEmpty());
}

TEST_F(VerificationTest, every_column_of_a_profile_is_guarded) {
  open_store(url())->put_profile(test::stored_profile(kRun));
  EXPECT_THAT(open_store(url())->verify(), IsEmpty());
  const std::vector<std::pair<const char*, std::vector<const char*>>> columns{
      {"profiles", {"subject = 'x'",      "taken = taken + 1",
                    "model = 'x'",        "mode = 'plain'",
                    "stack = 'x'",        "clock = 'timer'",
                    "clock = 'sundial'",  "refused = ''",
                    "asked_hertz = 1",    "hertz = 1e999",
                    "threads = 1",        "lost_samples = 0",
                    "listings = null",    "listings = '[]'",
                    "listings = 'words'", "listings = replace(listings, '300', '301')",
                    "executions = 1",     "unsampled_seconds = 1",
                    "blocks = x'00'",     "problems = '[]'",
                    "problems = '['",     "checksum = checksum + 1",
                    "processes = null",   "processes = '[1,2]'",
                    "processes = '[3]'",  "processes = '[2]'",
                    "processes = 'two'",  "processes = '[2,-1]'"}},
      {"profile_steps",
       {"step = step + 5",
        "name = 'x'",
        "layers = '[7]'",
        "layers = 'x'",
        "layer_key = 2",
        "variant = 1 - coalesce(variant, 0)",
        "reorder = 1 - reorder"}},
      {"profile_samples",
       {"step = step + 2",
        "function = 4 - function",
        "samples = samples + 1",
        "counts = x'0001'",
        "counts = x'ff'"}},
      {"functions", {"name = 'x'", "image = 'x'", "build_id = '12'"}},
  };
  for (const auto& [table, changes] : columns) {
    for (const std::string change : changes) {
      {
        SqliteConnection connection(path_);
        connection.execute(fmt::format(
            "pragma foreign_keys = off; create table kept as select * from {0}; update {0} set {1}",
            table,
            change));
      }
      EXPECT_THAT(open_store(url())->verify(), Contains(HasSubstr("profile in run 01J"))) << change;
      EXPECT_EQ(kind_of([&] { (void)open_store(url())->profiles(kRun); }),
                Error::Kind::kEnvironment)
          << change;
      SqliteConnection connection(path_);
      connection.execute(fmt::format(
          "pragma foreign_keys = off; delete from {0}; insert into {0} select * from kept; drop "
          "table kept",
          table));
    }
  }
  EXPECT_THAT(open_store(url())->verify(), IsEmpty());
}

TEST_F(VerificationTest, damaged_samples_are_found_and_not_handed_out) {
  EXPECT_THAT(faults_after("update measurements set samples = x'6e0102' where id = 4294967297"),
              testing::ElementsAre(HasSubstr("samples are damaged")));
  EXPECT_THROW((void)open_store(url())->measurements(kRun), Error);
}

TEST_F(VerificationTest, attributes_that_are_none_are_found) {
  EXPECT_THAT(faults_after("update attribute_sets set text = '{\"engine\":\"63\"}'"),
              Contains(HasSubstr("row 4294967296")));
  EXPECT_THAT(faults_after("update attribute_sets set text = '{\"engine\":62}'"),
              Contains(HasSubstr("'engine' is not a text")));
}

TEST_F(VerificationTest, an_unknown_word_is_found) {
  EXPECT_THAT(faults_after("update measurements set cache = 'warm' where id = 4294967297"),
              Contains(HasSubstr("'warm'")));
}

TEST_F(VerificationTest, texts_and_headers_are_guarded) {
  EXPECT_THAT(faults_after("update layer_keys set text = text || ' ' where id = 3"),
              Contains(HasSubstr("does not match its checksum")));
  EXPECT_THAT(faults_after("update layer_keys set text = trim(text) where id = 3"), IsEmpty());
  EXPECT_THAT(faults_after("update runs set stack = 'other'"), Contains(HasSubstr("run 01J")));
  EXPECT_THAT(faults_after("update runs set stack = 'default'"), IsEmpty());
  EXPECT_THAT(faults_after("update suites set resolved = '{}'"), Contains(HasSubstr("suite")));
}

TEST_F(VerificationTest, a_row_without_its_texts_is_found) {
  EXPECT_THAT(faults_after("pragma foreign_keys = off; delete from variants where id = 1"),
              Contains(HasSubstr("refers to the variant 1, which does not exist")));
  EXPECT_EQ(kind_of([&] { (void)open_store(url())->measurements(kRun); }),
            Error::Kind::kEnvironment);
}

TEST_F(VerificationTest, environments_are_guarded) {
  EXPECT_THAT(faults_after("update environments set identity = '{}'"),
              Contains(HasSubstr("environment")));
}

TEST_F(VerificationTest, what_changes_while_a_run_goes_on_is_guarded) {
  for (const char* const change : {"finished = 1",
                                   "state = 'finished'",
                                   "next_position = 49",
                                   "next_position = 51",
                                   "rows_ok = 49",
                                   "rows_failed = 1",
                                   "reused_checksum = 1",
                                   "progress_checksum = null",
                                   "brief_checksum = null"}) {
    {
      SqliteConnection connection(path_);
      connection.execute(std::string("create table kept as select * from runs; update runs set ") +
                         change);
    }
    EXPECT_THAT(open_store(url())->verify(), Contains(HasSubstr("run 01J"))) << change;
    SqliteConnection connection(path_);
    connection.execute("delete from runs; insert into runs select * from kept; drop table kept");
  }
  EXPECT_THAT(open_store(url())->verify(), IsEmpty());
}

TEST_F(VerificationTest, tags_are_guarded) {
  EXPECT_THAT(faults_after("update tags set tag = 'moin'"), Contains(HasSubstr("tag 'moin'")));
  EXPECT_THROW((void)open_store(url())->find_run("main"), Error);
}

TEST_F(VerificationTest, rows_that_a_run_reuses_are_guarded) {
  constexpr const char* kNext = "01J00000000000000000000002";
  {
    const auto store = open_store(url());
    store->begin_run(test::header(kNext, 60));
    store->link_reused(kNext, std::vector<results::RowId>{4294967296, 4294967297});
  }
  EXPECT_THAT(faults_after("update reused_rows set measurement = 4294967299 "
                           "where measurement = 4294967297"),
              Contains(HasSubstr(kNext)));
  EXPECT_EQ(kind_of([&] { (void)open_store(url())->measurements(kNext); }),
            Error::Kind::kEnvironment);
}

TEST_F(VerificationTest, nothing_altered_is_handed_out) {
  const auto series = [](const Store& store) {
    (void)store.series({test::key(1).text, results::CacheMode::kNone, {}});
  };
  const std::vector<std::pair<const char*, std::function<void(Store&)>>> cases{
      {"update measurements set median_seconds = 1", [](Store& s) { (void)s.measurements(kRun); }},
      {"update measurements set median_seconds = 1", series},
      {"update layer_keys set text = text || ' '", [](Store& s) { (void)s.measurements(kRun); }},
      {"delete from measurements where id = 4294967300",
       [](Store& s) { (void)s.measurements(kRun); }},
      {"update derived set payload = '{'", [](Store& s) { (void)s.derived(kRun, "bound"); }},
      {"update runs set facts = '{'", [](Store& s) { (void)s.runs(); }},
      {"update runs set environment = 7", [](Store& s) { (void)s.runs(); }},
      {"update suites set resolved = '{'", [](Store& s) { (void)s.find_run(kRun); }},
      {"update runs set next_position = 3",
       [](Store& s) {
         s.append(kRun, std::vector<results::Measurement>{test::row(test::key(1), 5)});
       }},
      {"update measurements set median_seconds = 1",
       [](Store& s) {
         std::ostringstream out;
         s.export_to(out, {});
       }},
  };
  for (const auto& [change, call] : cases) {
    std::filesystem::copy_file(path_, folder_.path() / "kept.db");
    {
      SqliteConnection connection(path_);
      connection.execute(change);
    }
    EXPECT_EQ(kind_of([&, &use = call] { use(*open_store(url())); }), Error::Kind::kEnvironment)
        << change;
    std::filesystem::rename(folder_.path() / "kept.db", path_);
  }
}

TEST_F(VerificationTest, derived_records_are_guarded) {
  EXPECT_THAT(faults_after("update derived set payload = '{\"seconds\":1}'"),
              testing::ElementsAre(HasSubstr("bound of lenet|1|f32")));
}

TEST_F(VerificationTest, references_to_nothing_are_found) {
  EXPECT_THAT(
      faults_after("delete from measurements where id = 4294967296"),
      testing::AllOf(Contains(HasSubstr("derived_inputs")),
                     Contains(HasSubstr("50 timed rows were counted, but the store has 49"))));
  EXPECT_THAT(faults_after("update tags set run = 77"), Contains(HasSubstr("tags")));
}

TEST_F(VerificationTest, newest_runs_are_checked_against_the_rows) {
  EXPECT_THAT(faults_after("delete from newest_runs where layer_key = 1"),
              Contains(HasSubstr("newest run")));
  EXPECT_THAT(faults_after("update newest_runs set timed_run = 5 where layer_key = 2"),
              Contains(HasSubstr(test::key(2).text)));
}

TEST_F(VerificationTest, a_damaged_page_is_reported_not_thrown) {
  {
    SqliteConnection connection(path_);
    connection.execute("pragma wal_checkpoint(truncate)");
  }
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path_));
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(size - 3 * 4096);
    file << std::string(4096, '\xA5');
  }
  std::vector<std::string> faults;
  try {
    faults = open_store(url())->verify();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment) << error.what();
    faults.emplace_back(error.what());
  }
  EXPECT_FALSE(faults.empty());
}

}  // namespace
}  // namespace plumb::store
