// SPDX-License-Identifier: Apache-2.0
// The fence of a run, where the lock beside the store does not tell that its owner lives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "harness/store/files/store_files.hpp"
#include "harness/store/store.hpp"
#include "tests/support/result_rows.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::store {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kRun = "01J00000000000000000000001";

TEST(LeaseFile, gives_a_run_to_one_at_a_time) {
  const TemporaryFolder folder;
  const LeaseFile mine(folder.path() / "store.db");
  const LeaseFile theirs(folder.path() / "store.db");
  {
    const auto lock = mine.try_lock(kRun);
    ASSERT_TRUE(lock);
    EXPECT_FALSE(theirs.try_lock(kRun));
    EXPECT_TRUE(theirs.try_lock("another run"));
  }
  EXPECT_TRUE(theirs.try_lock(kRun));
}

TEST(LeaseFile, is_one_for_all_names_of_a_store) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "disk");
  std::filesystem::create_directory_symlink(folder.path() / "disk", folder.path() / "link");
  const LeaseFile mine(folder.path() / "disk/store.db");
  const LeaseFile theirs(folder.path() / "link/../link/store.db");
  const auto lock = mine.try_lock(kRun);
  ASSERT_TRUE(lock);
  EXPECT_FALSE(theirs.try_lock(kRun));
}

TEST(LeaseFile, that_cannot_be_made_is_said) {
  try {
    const LeaseFile file("/dev/null/store.db");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    EXPECT_THAT(error.what(), HasSubstr("/dev/null/store.db-lease"));
  }
}

TEST(StoreLease, who_lost_a_run_stores_nothing_more_of_it) {
  const TemporaryFolder folder;
  const std::string url = "sqlite:" + (folder.path() / "store.db").string();
  const std::vector<results::Measurement> rows{test::row(test::key(1), 5)};
  const auto first = open_store(url);
  first->begin_run(test::header(kRun));
  const std::vector<results::RowId> ids = first->append(kRun, rows);
  std::filesystem::remove(folder.path() / "store.db-lease");

  const auto second = open_store(url);
  ASSERT_TRUE(second->take_run(kRun));
  second->append(kRun, rows);
  const auto calls = {
      +[](Store& store,
          const std::vector<results::RowId>&,
          const std::vector<results::Measurement>& of) { store.append(kRun, of); },
      +[](Store& store,
          const std::vector<results::RowId>& of,
          const std::vector<results::Measurement>&) { store.link_reused(kRun, of); },
      +[](Store& store,
          const std::vector<results::RowId>&,
          const std::vector<results::Measurement>&) {
        store.finish_run(kRun, results::RunState::kFinished, test::at(9));
      }};
  for (const auto call : calls) {
    try {
      call(*first, ids, rows);
      ADD_FAILURE() << "it was stored";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
      EXPECT_THAT(error.what(), AllOf(HasSubstr("taken over by process"), HasSubstr(kRun)));
    }
  }
  EXPECT_THAT(second->measurements(kRun), SizeIs(2));
  second->finish_run(kRun, results::RunState::kFinished, test::at(10));
  EXPECT_EQ(second->find_run(kRun).state, results::RunState::kFinished);
  EXPECT_THAT(second->verify(), IsEmpty());
}

}  // namespace
}  // namespace plumb::store
