// SPDX-License-Identifier: Apache-2.0
// What is written to a run while its server is away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "harness/base/error.hpp"
#include "harness/results/results_json.hpp"
#include "harness/store/spool/spooled_store.hpp"
#include "harness/store/sqlite/sqlite_connection.hpp"
#include "harness/store/store.hpp"
#include "harness/store/store_errors.hpp"
#include "tests/support/result_rows.hpp"
#include "tests/support/sample_profile.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kRun = "01J00000000000000000000001";
constexpr const char* kUrl = "postgresql:///plumb";

/// A server that can be switched off, at a moment of a transaction if need be. What is behind it is
/// an SQLite file.
class Server {
 public:
  enum class Fault { kNone, kAway, kAfterCommit };
  explicit Server(std::filesystem::path file) : file_(std::move(file)) {}

  [[nodiscard]] std::unique_ptr<TableStore> open() {
    if (fault == Fault::kAway) {
      throw Store::ServerAway("nobody answers");
    }
    auto connection = std::make_unique<Connection>(*this, file_);
    connection->set_up();
    return std::make_unique<TableStore>(std::move(connection), Store::Access{});
  }

  Fault fault = Fault::kNone;

 private:
  class Connection final : public store::Connection {
   public:
    Connection(Server& server, const std::filesystem::path& file) : server_(server), file_(file) {}
    void set_up() { file_.set_up(); }
    [[nodiscard]] std::string name() const override { return file_.name(); }
    [[nodiscard]] bool read_only() const override { return false; }
    [[nodiscard]] std::int64_t revision() override { return file_.revision(); }
    [[nodiscard]] Bytes size() override { return file_.size(); }
    [[nodiscard]] std::unique_ptr<Statement> prepare(const std::string& sql) override {
      return file_.prepare(sql);
    }
    [[nodiscard]] std::unique_ptr<Statement> prepare_insert(const std::string& table,
                                                            std::string_view columns,
                                                            std::size_t count) override {
      return file_.prepare_insert(table, columns, count);
    }
    [[nodiscard]] std::size_t rows_per_insert() const override { return file_.rows_per_insert(); }
    void execute(const std::string& sql) override { file_.execute(sql); }
    void begin(Connection::TransactionKind kind) override {
      if (server_.fault == Fault::kAway) {
        throw Store::ServerAway("the server went away");
      }
      file_.begin(kind);
    }
    void commit(Connection::TransactionKind kind) override {
      file_.commit(kind);
      if (kind == Connection::TransactionKind::kWrite && server_.fault == Fault::kAfterCommit) {
        server_.fault = Fault::kAway;
        throw Store::ServerAway("the answer was lost");
      }
    }
    void rollback() noexcept override { file_.rollback(); }
    [[nodiscard]] std::unique_ptr<Connection::Lock> try_lock(const results::RunId& run) override {
      return file_.try_lock(run);
    }
    [[nodiscard]] Contents contents() override { return file_.contents(); }
    [[nodiscard]] std::string history_sql() const override { return file_.history_sql(); }
    [[nodiscard]] std::string migration_sql(std::string_view sql) const override {
      return file_.migration_sql(sql);
    }
    [[nodiscard]] std::vector<std::string> structural_faults() override {
      return file_.structural_faults();
    }
    [[nodiscard]] std::string_view restore_advice() const override {
      return file_.restore_advice();
    }
    void shrink() override { file_.shrink(); }

   private:
    Server& server_;
    SqliteConnection file_;
  };

  std::filesystem::path file_;
};

class Spool : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<SpooledStore> open() {
    return std::make_unique<SpooledStore>(kUrl, spool_, [this] { return server_.open(); });
  }
  [[nodiscard]] std::vector<results::Measurement> batch(int first) const {
    return {test::row(test::key(first), 5), test::row(test::key(first + 1), 6)};
  }
  [[nodiscard]] std::size_t stored_rows() { return server_.open()->measurements(kRun).size(); }

  TemporaryFolder folder_;
  std::filesystem::path spool_ = folder_.path() / "spool";
  Server server_{folder_.path() / "store.db"};
};

TEST_F(Spool, a_run_goes_on_without_its_server_and_is_sent_at_the_next_contact) {
  auto store = open();
  store->begin_run(test::header(kRun));
  const std::vector<results::RowId> before = store->append(kRun, batch(1));
  server_.fault = Server::Fault::kAway;
  const std::vector<results::RowId> after = store->append(kRun, batch(3));
  const results::DerivedRecord record{kRun, "bound", "lenet", "1", {after[1]}, "{}", test::at(5)};
  store->put_derived({&record, 1});
  store->put_profile(test::stored_profile(kRun));
  EXPECT_THAT(store->profiles(kRun), SizeIs(1));
  EXPECT_EQ(after[0], before[1] + 1);
  EXPECT_EQ(store->waiting_rows(), 2U);
  EXPECT_THAT(store->measurements(kRun), SizeIs(4)) << "what is known here can be read";
  EXPECT_THAT(store->derived(kRun, "bound"), SizeIs(1));
  EXPECT_EQ(store->find_run(kRun).rows_ok, 4);
  EXPECT_THROW((void)store->runs(), Store::ServerAway);
  store->finish_run(kRun, results::RunState::kFinished, test::at(9));

  server_.fault = Server::Fault::kNone;
  store.reset();  // The last moment for another try.
  const auto stored = server_.open();
  EXPECT_EQ(stored->find_run(kRun).state, results::RunState::kFinished);
  EXPECT_EQ(stored->find_run(kRun).finished, test::at(9));
  const std::vector<results::StoredMeasurement> rows = stored->measurements(kRun);
  ASSERT_THAT(rows, SizeIs(4));
  EXPECT_EQ(rows[3].row, after[1]);
  EXPECT_EQ(rows[3].measurement.key, test::key(4));
  EXPECT_THAT(stored->derived(kRun, "bound").front().inputs, ElementsAre(after[1]));
  EXPECT_THAT(stored->profiles(kRun), SizeIs(1));
  EXPECT_THAT(stored->verify(), IsEmpty());
  EXPECT_THAT(find_spools(spool_), IsEmpty());
}

TEST_F(Spool, what_was_committed_without_an_answer_is_not_stored_twice) {
  auto store = open();
  store->begin_run(test::header(kRun));
  server_.fault = Server::Fault::kAfterCommit;
  store->append(kRun, batch(1));
  EXPECT_EQ(store->waiting_rows(), 2U);
  store->append(kRun, batch(3));
  store->put_profile(test::stored_profile(kRun));
  server_.fault = Server::Fault::kNone;
  store.reset();
  EXPECT_EQ(stored_rows(), 4U);
  EXPECT_THAT(server_.open()->verify(), IsEmpty());
}

TEST_F(Spool, records_of_one_call_are_sent_in_one_transaction) {
  auto store = open();
  store->begin_run(test::header(kRun));
  server_.fault = Server::Fault::kAfterCommit;
  const std::vector<results::DerivedRecord> both{
      {kRun, "bound", "lenet", "1", {}, "{}", test::at(5)},
      {kRun, "bound", "arcface", "1", {}, "{}", test::at(5)}};
  store->put_derived(both);
  server_.fault = Server::Fault::kNone;
  EXPECT_THAT(server_.open()->derived(kRun, "bound"), SizeIs(2)) << "by the first commit";
  store.reset();
  EXPECT_THAT(server_.open()->derived(kRun, "bound"), SizeIs(2)) << "none is stored twice";
  EXPECT_THAT(find_spools(spool_), IsEmpty());
}

TEST_F(Spool, a_profile_that_was_committed_without_an_answer_is_not_stored_twice) {
  auto store = open();
  store->begin_run(test::header(kRun));
  server_.fault = Server::Fault::kAfterCommit;
  store->put_profile(test::stored_profile(kRun));
  server_.fault = Server::Fault::kNone;
  store.reset();
  EXPECT_THAT(server_.open()->profiles(kRun), SizeIs(1));
  EXPECT_THAT(find_spools(spool_), IsEmpty());
}

TEST_F(Spool, the_writes_of_a_dead_process_are_sent_by_another_one_exactly_once) {
  auto store = open();
  store->begin_run(test::header(kRun));
  server_.fault = Server::Fault::kAway;
  store->append(kRun, batch(1));
  store->append(kRun, batch(3));
  store.reset();  // As if it had died: the server is still away.
  server_.fault = Server::Fault::kNone;

  // The one who sends dies as well, between a commit and its note of it.
  const std::vector<std::filesystem::path> files = find_spools(spool_);
  ASSERT_THAT(files, SizeIs(1));
  std::filesystem::copy_file(files[0], folder_.path() / "copy");
  const auto server = server_.open();
  EXPECT_EQ(sync_spools_of(spool_, kUrl, *server).front().sent_rows, 4U);
  std::filesystem::copy_file(folder_.path() / "copy", files[0]);
  const std::vector<Store::SpooledRun> again = sync_spools_of(spool_, kUrl, *server);
  EXPECT_THAT(again.front().problem, IsEmpty());
  EXPECT_EQ(stored_rows(), 4U);

  const auto resumed = open();
  ASSERT_TRUE(resumed->take_run(kRun));
  resumed->append(kRun, batch(5));
  EXPECT_EQ(stored_rows(), 6U);
  EXPECT_THAT(server->verify(), IsEmpty());
}

TEST_F(Spool, rows_of_a_run_that_another_process_continued_are_refused_and_kept) {
  auto store = open();
  store->begin_run(test::header(kRun));
  server_.fault = Server::Fault::kAway;
  store->append(kRun, batch(1));
  store.reset();
  server_.fault = Server::Fault::kNone;
  const auto server = server_.open();
  ASSERT_TRUE(server->take_run(kRun));
  server->append(kRun, batch(3));
  server->finish_run(kRun, results::RunState::kInterrupted, test::at(9));

  const std::vector<Store::SpooledRun> reports = sync_spools_of(spool_, kUrl, *server);
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_THAT(reports[0].problem, HasSubstr("taken over"));
  EXPECT_EQ(reports[0].waiting_rows, 2U);
  EXPECT_TRUE(std::filesystem::exists(reports[0].file));
  EXPECT_EQ(stored_rows(), 2U);
  EXPECT_THAT(sync_spools_of(spool_, kUrl, *server), IsEmpty()) << "it is refused once";
}

TEST_F(Spool, a_live_process_keeps_its_spool_and_another_store_gets_nothing) {
  auto store = open();
  store->begin_run(test::header(kRun));
  server_.fault = Server::Fault::kAway;
  store->append(kRun, batch(1));
  server_.fault = Server::Fault::kNone;
  const auto server = server_.open();
  EXPECT_THAT(sync_spools_of(spool_, kUrl, *server).front().problem, HasSubstr("live process"));
  server_.fault = Server::Fault::kAway;
  store.reset();
  EXPECT_THAT(sync_spools_of(spool_, "postgresql:///other", *server).front().problem,
              HasSubstr(kUrl));
  EXPECT_THAT(find_spools(spool_), SizeIs(1));
}

TEST_F(Spool, a_row_that_cannot_be_stored_is_refused_without_a_server_too) {
  const auto store = open();
  store->begin_run(test::header(kRun));
  server_.fault = Server::Fault::kAway;
  std::vector<results::Measurement> rows = batch(1);
  rows[1].summary.median = Seconds(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THROW(store->append(kRun, rows), Error);
  EXPECT_EQ(store->waiting_rows(), 0U);
  server_.fault = Server::Fault::kNone;
}

}  // namespace
}  // namespace plumb::store
