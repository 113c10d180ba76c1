// SPDX-License-Identifier: Apache-2.0
// Who may write to a run.
#include "tests/contract/store_contract.hpp"

namespace plumb::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class StoreLease : public StoreContract {
 protected:
  const std::vector<results::Measurement> rows_{row(key(1), 5)};
};

INSTANTIATE_TEST_SUITE_P(Stores,
                         StoreLease,
                         testing::ValuesIn(store_kinds()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(StoreLease, a_live_run_is_not_taken_over) {
  const auto store = open();
  store->begin_run(header(kFirst));
  const auto other = open();
  EXPECT_FALSE(other->take_run(kFirst));
  store->append(kFirst, rows_);
  EXPECT_THAT(store->measurements(kFirst), SizeIs(1));
}

TEST_P(StoreLease, only_who_took_a_run_writes_to_it) {
  const auto store = open();
  store->begin_run(header(kFirst));
  const auto other = open();
  EXPECT_THAT(error_of(Error::Kind::kInternal, [&] { other->append(kFirst, rows_); }),
              HasSubstr("was not taken"));
  EXPECT_THAT(error_of(Error::Kind::kInternal,
                       [&] { other->finish_run(kFirst, results::RunState::kFinished, at(1)); }),
              HasSubstr("was not taken"));
  EXPECT_THAT(store->measurements(kFirst), IsEmpty());
}

TEST_P(StoreLease, the_run_of_a_store_that_was_closed_is_taken_over) {
  open()->begin_run(header(kFirst));
  const auto store = open();
  ASSERT_TRUE(store->take_run(kFirst));
  store->append(kFirst, rows_);
  EXPECT_THAT(store->measurements(kFirst), SizeIs(1));
}

TEST_P(StoreLease, an_interrupted_run_is_given_back_and_a_finished_one_is_not_taken) {
  const auto store = open();
  store->begin_run(header(kFirst));
  store->finish_run(kFirst, results::RunState::kInterrupted, at(1));
  const auto other = open();
  ASSERT_TRUE(other->take_run(kFirst));
  EXPECT_FALSE(store->take_run(kFirst));
  other->append(kFirst, rows_);
  other->finish_run(kFirst, results::RunState::kFinished, at(2));
  EXPECT_FALSE(store->take_run(kFirst));
  EXPECT_THAT(store->verify(), IsEmpty());
}

TEST_P(StoreLease, runs_are_taken_one_by_one) {
  const auto store = open();
  store->begin_run(header(kFirst));
  store->begin_run(header(kSecond, 60));
  store->finish_run(kFirst, results::RunState::kInterrupted, at(1));
  const auto other = open();
  EXPECT_TRUE(other->take_run(kFirst));
  EXPECT_FALSE(other->take_run(kSecond));
}

TEST_P(StoreLease, a_run_that_was_refused_is_free) {
  const auto store = open();
  store->begin_run(header(kFirst));
  const auto other = open();
  EXPECT_THAT(error_of(Error::Kind::kInternal, [&] { other->begin_run(header(kFirst)); }),
              HasSubstr("already"));
  store->finish_run(kFirst, results::RunState::kInterrupted, at(1));
  EXPECT_TRUE(store->take_run(kFirst)) << "the one who was refused does not hold it";
}

}  // namespace
}  // namespace plumb::test
