// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "harness/base/error.hpp"
#include "harness/worker/client/worker_process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::worker {
namespace {

namespace fs = std::filesystem;

void make_program(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "#!/bin/sh\n";
  fs::permissions(path, fs::perms::owner_all);
}

TEST(WorkerFinder, looks_in_the_given_folders_first_then_in_the_variable) {
  const TemporaryFolder folder;
  make_program(folder.path() / "a/plumb-worker-x");
  make_program(folder.path() / "b/plumb-worker-x");
  make_program(folder.path() / "b/plumb-worker-y");
  const std::string variable = fmt::format("/no/such/folder:{}", (folder.path() / "b").string());
  ::setenv("PLUMB_WORKER_PATH", variable.c_str(), 1);
  EXPECT_EQ(find_worker("x", {folder.path() / "a"}), folder.path() / "a/plumb-worker-x");
  EXPECT_EQ(find_worker("y", {folder.path() / "a"}), folder.path() / "b/plumb-worker-y");
  EXPECT_THAT(worker_backends({folder.path() / "a"}), testing::IsSupersetOf({"x", "y"}));
  ::unsetenv("PLUMB_WORKER_PATH");
}

TEST(WorkerFinder, finds_the_build_trees_workers) {
  EXPECT_EQ(find_worker("misbehaving", {}).filename(), "plumb-worker-misbehaving");
  EXPECT_THAT(worker_backends({}), testing::IsSupersetOf({"fake", "misbehaving"}));
}

TEST(WorkerFinder, passes_over_what_cannot_be_executed) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "plumb-worker-folder");
  std::ofstream(folder.path() / "plumb-worker-text") << "no program";
  EXPECT_THROW((void)find_worker("folder", {folder.path()}), Error);
  EXPECT_THROW((void)find_worker("text", {folder.path()}), Error);
}

TEST(WorkerFinder, names_a_folder_once) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "a");
  const std::string variable = (folder.path() / "." / "a").string();
  ::setenv("PLUMB_WORKER_PATH", variable.c_str(), 1);
  try {
    (void)find_worker("abacus", {folder.path() / "a", folder.path() / "a"});
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    const std::string name = (folder.path() / "a").string() + "'";
    EXPECT_NE(text.find(name), std::string::npos) << text;
    EXPECT_EQ(text.find(name), text.rfind(name)) << text;
    EXPECT_EQ(text.find(variable), std::string::npos) << text;
  }
  ::unsetenv("PLUMB_WORKER_PATH");
}

TEST(WorkerFinder, says_where_it_looked_and_what_to_do) {
  try {
    (void)find_worker("abacus", {"/no/such/folder"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("no plumb-worker-abacus in '/no/such/folder'"),
                               testing::HasSubstr("build or install")));
  }
}

}  // namespace
}  // namespace plumb::worker
