// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/store/content_hash.hpp"
#include "harness/store/sqlite/sqlite_connection.hpp"
#include "harness/store/store.hpp"
#include "harness/store/tables/connection.hpp"
#include "harness/store/tables/measurement_table.hpp"
#include "harness/store/tables/run_table.hpp"
#include "tests/support/result_rows.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::store {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class SchemaTest : public testing::Test {
 protected:
  [[nodiscard]] std::string url() const { return "sqlite:" + path_.string(); }
  /// Makes the empty tables of version 1, as the first release did.
  [[nodiscard]] SqliteConnection version_one() const {
    SqliteConnection connection(path_);
    connection.execute("create table migrations (number integer primary key, name text not null)");
    connection.execute(std::string(migrations().front().sql));
    connection.execute("insert into migrations values (1, 'initial')");
    return connection;
  }
  [[nodiscard]] std::string error_of_opening(bool migrate) const {
    try {
      (void)open_store(url(), {.migrate = migrate});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kEnvironment) << error.what();
      return error.what();
    }
    return "opened";
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "store.db";
};

/// Puts a run into a database of version 1, column by column as version 1 had them.
void insert_run(SqliteConnection& connection,
                std::int64_t number,
                const results::RunHeader& header,
                std::int64_t rows_ok,
                std::int64_t rows_failed) {
  const std::string suite_hash = sha256(header.resolved_suite);
  const std::string environment_id = header.environment.id();
  connection.execute("insert or ignore into environments values (1, '" + environment_id +
                     R"(', '{"cpu.model":"Xeon","threads":"1"}'))");
  connection.execute("insert or ignore into suites values ('" + suite_hash + "', '" +
                     header.resolved_suite + "')");
  SqliteConnection::Prepared(
      connection,
      "insert into runs values (?, ?, 'quick', '5f', ?, 'onednn', 'default', 1, "
      R"('{"kernel":"6.1"}', '', '["plumb","run","quick"]', ?, 'finished', null, )"
      "10, ?, ?, ?)")
      .bind(number)
      .bind(std::string_view(header.id))
      .bind(std::string_view(suite_hash))
      .bind(header.started)
      .bind(rows_ok)
      .bind(rows_failed)
      .bind(run_checksum(header))
      .run();
}

/// Puts a row without samples into a database of version 1.
void insert_row(SqliteConnection& connection,
                results::RowId id,
                std::int64_t layer,
                const results::RunId& run,
                const results::Measurement& row) {
  const auto hash = [](const std::string& text) { return ContentHash().bytes(text).stored(); };
  SqliteConnection::Prepared text(connection, "insert or ignore into layer_keys values (?, ?)");
  text.bind(layer).bind(std::string_view(row.key.text)).run();
  const std::string variant_id = row.variant.empty() ? "2" : "1";
  connection.execute("insert or ignore into variants values (" + variant_id + ", '" + row.variant +
                     "')");
  SqliteConnection::Prepared(
      connection,
      "insert into measurements values (?, ?, ?, " + variant_id +
          ", ?, ?, ?, ?, 0, 0, null, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, null, null, null, "
          "0, null, null, 0, null, null, null, 0, 1, 0, ?, ?, ?)")
      .bind(id)
      .bind(id >> 32)
      .bind(layer)
      .bind(to_text(row.cache))
      .bind(to_text(row.purpose))
      .bind(to_text(row.outcome.kind))
      .bind(std::string_view(row.outcome.reason))
      .bind(row.repetitions)
      .bind(static_cast<std::int64_t>(row.summary.n))
      .bind(row.summary.median)
      .bind(row.summary.interval.low)
      .bind(row.summary.interval.high)
      .bind(row.summary.min)
      .bind(row.summary.p90)
      .bind(row.summary.mean)
      .bind(row.floor)
      .bind(row.started)
      .bind(row.wall)
      .bind(row_checksum(row, hash(run), hash(row.key.text), hash(row.variant)))
      .run();
}

TEST_F(SchemaTest, a_store_of_version_one_keeps_everything_and_finds_its_newest_runs) {
  const std::string older = "01J00000000000000000000001";
  const std::string newer = "01J00000000000000000000002";
  constexpr std::int64_t kRun = std::int64_t{1} << 32;
  {
    SqliteConnection connection = version_one();
    // Run 1 started after run 2: ids say nothing about time.
    insert_run(connection, 1, test::header(newer, 200), 1, 1);
    insert_run(connection, 2, test::header(older, 100), 2, 0);
    const auto refused =
        test::failure(test::key(2), results::Outcome::Kind::kUnsupported, "no bf16");
    insert_row(connection, kRun, 1, newer, test::row(test::key(1), 20));
    insert_row(connection, kRun + 1, 2, newer, refused);
    insert_row(connection, 2 * kRun, 1, older, test::row(test::key(1), 10));
    insert_row(connection, 2 * kRun + 1, 2, older, test::row(test::key(2), 30));
  }
  EXPECT_THAT(error_of_opening(false),
              testing::AllOf(HasSubstr("version 1"), HasSubstr("needs 9"), HasSubstr("migrate")));

  const auto store = open_store(url());
  EXPECT_EQ(store->schema_version(), 9);
  EXPECT_THAT(store->runs(), SizeIs(2));
  const std::vector<results::StoredMeasurement> rows = store->measurements(newer);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].row, kRun);
  EXPECT_DOUBLE_EQ(rows[0].measurement.summary.median.count(), 20e-6);
  EXPECT_EQ(rows[1].measurement.outcome.reason, "no bf16");

  const auto newest_of = [&](int layer) {
    return store->series({test::key(layer).text, results::CacheMode::kNone, {}}).back().run;
  };
  EXPECT_EQ(newest_of(1), newer);
  EXPECT_EQ(newest_of(2), older) << "the newer run has no time for this key";
  const std::vector<model::LayerKey> keys{test::key(2)};
  const auto reusable = store->reusable(
      test::header(newer).environment.id(), keys, results::CacheMode::kNone, std::nullopt);
  ASSERT_THAT(reusable, SizeIs(1));
  EXPECT_EQ(reusable[0].run, newer) << "but a refusal";
  EXPECT_THAT(store->verify(), IsEmpty());
}

TEST_F(SchemaTest, what_an_older_store_left_open_is_guarded_when_it_is_migrated) {
  const std::string run = "01J00000000000000000000001";
  {
    SqliteConnection connection = version_one();
    insert_run(connection, 1, test::header(run, 200), 1, 0);
    insert_row(connection, std::int64_t{1} << 32, 1, run, test::row(test::key(1), 20));
    connection.execute("insert into tags values ('main', 1)");
  }
  EXPECT_THAT(open_store(url())->verify(), IsEmpty());
  for (const char* const change :
       {"update runs set finished = 5", "update tags set tag = 'moin'"}) {
    {
      SqliteConnection connection(path_);
      connection.execute(change);
    }
    EXPECT_THAT(open_store(url())->verify(), SizeIs(testing::Ge(1U))) << change;
  }
}

TEST_F(SchemaTest, a_damaged_schema_is_no_bug_of_the_program) {
  (void)open_store(url());
  for (const char* const change :
       {"update sqlite_master set sql = replace(sql, 'wall_seconds', 'vall_seconds')",
        "delete from migrations where number = 2"}) {
    std::filesystem::copy_file(path_, folder_.path() / "kept.db");
    {
      SqliteConnection connection(path_);
      connection.execute(std::string("pragma writable_schema = on; ") + change);
    }
    try {
      const auto store = open_store(url());
      EXPECT_THAT(store->verify(), Contains(HasSubstr("schema"))) << change;
      store->begin_run(test::header("01J00000000000000000000001"));
      store->append("01J00000000000000000000001",
                    std::vector<results::Measurement>{test::row(test::key(1), 20)});
      ADD_FAILURE() << "stored after " << change;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kEnvironment) << error.what();
      EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("damaged"), HasSubstr("-wal and -shm")));
    }
    std::filesystem::rename(folder_.path() / "kept.db", path_);
  }
}

TEST_F(SchemaTest, equal_attributes_are_kept_once) {
  {
    const auto store = open_store(url());
    store->begin_run(test::header("01J00000000000000000000001"));
    std::vector<results::Measurement> rows{test::row(test::key(1), 20),
                                           test::row(test::key(1), 30)};
    rows[0].attributes = rows[1].attributes = {{"engine", "62"}};
    rows.push_back(test::row(test::key(2), 10));
    store->append("01J00000000000000000000001", rows);
  }
  SqliteConnection connection(path_);
  SqliteConnection::Prepared sets(
      connection,
      "select count(*), (select count(*) from measurements where attributes = 1), "
      "(select count(*) from measurements where attributes is null) "
      "from attribute_sets");
  ASSERT_TRUE(sets.step());
  EXPECT_EQ(sets.integer(), 1);
  EXPECT_EQ(sets.integer(), 2);
  EXPECT_EQ(sets.integer(), 1);
}

TEST_F(SchemaTest, a_failing_migration_leaves_the_store_as_it_was) {
  {
    SqliteConnection connection = version_one();
    connection.execute("create table newest_runs (surprise integer)");
  }
  EXPECT_THROW((void)open_store(url()), Error);
  SqliteConnection connection(path_);
  EXPECT_EQ(read_schema_version(connection), 1);
}

TEST_F(SchemaTest, a_newer_store_is_refused_by_both_versions) {
  (void)open_store(url());
  {
    SqliteConnection connection(path_);
    connection.execute("insert into migrations values (99, 'future')");
  }
  const std::string known = std::to_string(migrations().size());
  EXPECT_THAT(error_of_opening(true),
              testing::AllOf(HasSubstr("version 99"), HasSubstr("up to " + known)));
}

TEST_F(SchemaTest, another_programs_database_is_refused_and_left_alone) {
  {
    SqliteConnection connection(path_);
    connection.execute("create table albums (title text)");
  }
  EXPECT_THAT(error_of_opening(true), HasSubstr("another program"));
  SqliteConnection connection(path_);
  SqliteConnection::Prepared tables(connection, "select count(*) from sqlite_master");
  ASSERT_TRUE(tables.step());
  EXPECT_EQ(tables.integer(), 1);
}

TEST_F(SchemaTest, migrations_are_numbered_from_one_without_gaps) {
  int expected = 1;
  for (const Connection::Migration& migration : migrations()) {
    EXPECT_EQ(migration.number, expected++);
    EXPECT_FALSE(migration.name.empty());
  }
  EXPECT_GE(migrations().size(), 2U);
}

TEST_F(SchemaTest, a_new_store_has_the_newest_version) {
  EXPECT_EQ(open_store(url())->schema_version(), static_cast<int>(migrations().size()));
  EXPECT_EQ(open_store(url(), {.migrate = false})->schema_version(),
            static_cast<int>(migrations().size()));
}

}  // namespace
}  // namespace plumb::store
