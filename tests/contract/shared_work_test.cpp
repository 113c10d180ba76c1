// SPDX-License-Identifier: Apache-2.0
// Who may claim the work of a shared run, and store its results.
#include <thread>

#include "harness/store/postgresql/postgresql_connection.hpp"
#include "harness/store/store.hpp"
#include "harness/store/tables/table_store.hpp"
#include "tests/contract/store_contract.hpp"

namespace plumb::test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr milliseconds kLong{60'000};
constexpr milliseconds kShort{50};

class SharedWork : public StoreContract {
 protected:
  void SetUp() override {
    if (GetParam().name == "sqlite") {
      GTEST_SKIP() << "a file has no shared runs";
    }
    EXPECT_EQ(first_->shared_work().begin_or_find("nightly", header(kFirst), "prepare"), kFirst);
  }
  /// Joins the run, with a lease that lasts or has ended when this returns.
  static std::int64_t join(store::Store& store, milliseconds lease) {
    const auto member = store.shared_work().join(kFirst, "host", lease);
    EXPECT_TRUE(member.has_value());
    if (lease == kShort) {
      std::this_thread::sleep_for(2 * kShort);
    }
    return member.value_or(0);
  }
  void offer_keys() const {
    const std::vector<std::string> items{key(1).text, key(2).text};
    first_->shared_work().offer(kFirst, 1, items);
  }
  static std::string claim(store::Store& store) {
    const auto claim = store.shared_work().claim(kFirst, 1);
    return claim ? claim->item : std::string("none");
  }

  const std::unique_ptr<store::Store> first_ = open();
  const std::unique_ptr<store::Store> second_ = open();
  const std::vector<results::Measurement> rows_{row(key(1), 5)};
};

INSTANTIATE_TEST_SUITE_P(Stores,
                         SharedWork,
                         testing::ValuesIn(store_kinds()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(SharedWork, a_name_begins_one_run) {
  EXPECT_EQ(second_->shared_work().begin_or_find("nightly", header(kSecond), "prepare"), kFirst);
  EXPECT_EQ(second_->shared_work().begin_or_find(kFirst, header(kSecond), "prepare"), kFirst);
  EXPECT_EQ(second_->find_run("nightly").header.id, kFirst);
  EXPECT_THAT(second_->runs(), SizeIs(1));
  EXPECT_THAT(error_of(Error::Kind::kUser,
                       [&] {
                         static_cast<void>(second_->shared_work().begin_or_find(
                             "two words", header(kSecond), "prepare"));
                       }),
              HasSubstr("two words"));
}

TEST_P(SharedWork, an_item_goes_to_one_process) {
  join(*first_, kLong);
  join(*second_, kLong);
  offer_keys();
  EXPECT_EQ(claim(*first_), key(1).text);
  EXPECT_EQ(claim(*second_), key(2).text);
  EXPECT_EQ(claim(*first_), "none");
  EXPECT_EQ(claim(*second_), "none");
  const store::SharedWork::Count count = first_->shared_work().count(kFirst).at(1);
  EXPECT_EQ(count.open, 2U);
}

TEST_P(SharedWork, rows_need_the_claim_of_their_key) {
  join(*first_, kLong);
  join(*second_, kLong);
  offer_keys();
  ASSERT_EQ(claim(*first_), key(1).text);
  EXPECT_THROW(second_->append(kFirst, rows_), store::SharedWork::StaleClaim);
  EXPECT_THAT(first_->append(kFirst, rows_), SizeIs(1));
  EXPECT_THAT(second_->measurements(kFirst), SizeIs(1));
  EXPECT_THAT(first_->verify(), IsEmpty());
}

TEST_P(SharedWork, the_items_of_a_silent_process_return_and_its_results_are_refused) {
  const std::int64_t silent = join(*first_, kShort);
  const std::int64_t taker = join(*second_, kLong);
  EXPECT_LT(silent, taker);
  offer_keys();
  ASSERT_EQ(claim(*first_), key(1).text);
  const auto taken = second_->shared_work().claim(kFirst, 1);
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->item, key(1).text);
  EXPECT_EQ(taken->fence, 2);
  try {
    first_->append(kFirst, rows_);
    FAIL() << "a stale result was stored";
  } catch (const store::SharedWork::StaleClaim& stale) {
    EXPECT_THAT(stale.what(), HasSubstr("was given to process"));
  }
  EXPECT_THAT(second_->append(kFirst, rows_), SizeIs(1));
  EXPECT_THAT(second_->measurements(kFirst), SizeIs(1));
}

TEST_P(SharedWork, a_renewed_lease_keeps_its_items) {
  const std::int64_t slow = join(*first_, kShort);
  join(*second_, kLong);
  offer_keys();
  ASSERT_EQ(claim(*first_), key(1).text);
  second_->shared_work().renew(kFirst, slow, kLong);
  EXPECT_EQ(claim(*second_), key(2).text);
  EXPECT_EQ(claim(*second_), "none");
  EXPECT_THAT(first_->append(kFirst, rows_), SizeIs(1));
}

TEST_P(SharedWork, executions_need_the_claim_of_their_model) {
  join(*first_, kLong);
  join(*second_, kLong);
  const std::vector<std::string> items{store::model_item("lenet|1|f32")};
  first_->shared_work().offer(kFirst, 1, items);
  ASSERT_EQ(claim(*first_), items.front());
  results::DerivedRecord record;
  record.run = kFirst;
  record.kind = results::kExecutionRecord;
  record.subject = "lenet|1|f32";
  record.payload = "{}";
  EXPECT_THROW(second_->put_derived({&record, 1}), store::SharedWork::StaleClaim);
  first_->put_derived({&record, 1});
  EXPECT_THAT(second_->derived(kFirst, results::kExecutionRecord), SizeIs(1));
}

TEST_P(SharedWork, a_run_is_finished_when_all_is_done_and_interrupted_with_its_last_process) {
  join(*first_, kLong);
  join(*second_, kLong);
  ASSERT_TRUE(first_->shared_work().claim(kFirst, 0).has_value());
  first_->finish_run(kFirst, results::RunState::kInterrupted, at(1));
  EXPECT_EQ(second_->find_run(kFirst).state, results::RunState::kRunning);
  second_->finish_run(kFirst, results::RunState::kInterrupted, at(1));
  EXPECT_EQ(second_->find_run(kFirst).state, results::RunState::kInterrupted);
  EXPECT_FALSE(first_->take_run(kFirst)) << "who resumes a shared run joins it";

  join(*second_, kLong);
  EXPECT_EQ(second_->find_run(kFirst).state, results::RunState::kRunning);
  error_of(Error::Kind::kInternal,
           [&] { second_->finish_run(kFirst, results::RunState::kFinished, at(2)); });
  const auto left = second_->shared_work().claim(kFirst, 0);
  ASSERT_TRUE(left.has_value());
  EXPECT_EQ(left->fence, 2);
  const std::vector<std::string> done{left->item};
  second_->shared_work().note(kFirst, done, store::SharedWork::Progress::kDone);
  second_->finish_run(kFirst, results::RunState::kFinished, at(2));
  EXPECT_EQ(second_->find_run(kFirst).state, results::RunState::kFinished);
  EXPECT_FALSE(first_->shared_work().join(kFirst, "host", kLong).has_value());
}

TEST_P(SharedWork, a_run_that_was_begun_alone_is_not_joined) {
  first_->begin_run(header(kSecond, 60));
  EXPECT_THAT(
      error_of(Error::Kind::kUser,
               [&] { static_cast<void>(second_->shared_work().join(kSecond, "host", kLong)); }),
      HasSubstr("without --join"));
}

TEST_P(SharedWork, rows_that_are_sent_again_are_stored_once) {
  store::TableStore server(std::make_unique<store::PostgresqlConnection>(
                               GetParam().url(folder_.path() / "store"), false, kLong),
                           {});
  const std::int64_t member = server.join(kFirst, "host", kLong).value_or(0);
  const std::vector<std::string> items{key(1).text, key(2).text};
  server.offer(kFirst, 1, items);
  ASSERT_TRUE(server.claim(kFirst, 1).has_value());
  server.append_at(kFirst, 0, rows_);
  server.append_at(kFirst, 0, rows_);
  EXPECT_THAT(second_->measurements(kFirst), SizeIs(1));

  // As the spool of a process that died is sent: by another process, in its place.
  store::TableStore again(std::make_unique<store::PostgresqlConnection>(
                              GetParam().url(folder_.path() / "store"), false, kLong),
                          {});
  ASSERT_TRUE(again.retake(kFirst, member));
  EXPECT_EQ(again.place(kFirst).next_position, 1);
  again.append_at(kFirst, 0, rows_);
  again.append_at(kFirst, 1, rows_);
  EXPECT_THAT(second_->measurements(kFirst), SizeIs(2));
  EXPECT_THAT(second_->verify(), IsEmpty());
}

TEST_P(SharedWork, many_processes_claim_each_item_once) {
  constexpr int kProcesses = 4;
  constexpr int kItems = 60;
  join(*first_, kLong);
  std::vector<std::string> items;
  for (int i = 0; i < kItems; ++i) {
    items.push_back("item " + std::to_string(i));
  }
  first_->shared_work().offer(kFirst, 1, items);
  std::vector<std::vector<std::string>> claimed(kProcesses);
  std::vector<std::thread> threads;
  for (std::vector<std::string>& mine : claimed) {
    threads.emplace_back([&] {
      const auto store = open();
      join(*store, kLong);
      for (std::string item = claim(*store); item != "none"; item = claim(*store)) {
        mine.push_back(item);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::vector<std::string> all;
  for (const std::vector<std::string>& mine : claimed) {
    all.insert(all.end(), mine.begin(), mine.end());
  }
  EXPECT_THAT(all, testing::UnorderedElementsAreArray(items));
}

TEST(SharedWorkOfFile, is_refused_with_what_to_do) {
  const TemporaryFolder folder;
  const auto store = store::open_store("sqlite:" + (folder.path() / "store.db").string());
  try {
    static_cast<void>(store->shared_work());
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    EXPECT_THAT(error.what(), HasSubstr("PostgreSQL"));
  }
}

}  // namespace
}  // namespace plumb::test
