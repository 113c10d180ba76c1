// SPDX-License-Identifier: Apache-2.0
// Read-only places and full disks, each in a process of its own: the limits hold for all of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>

#include "harness/base/error.hpp"
#include "harness/store/store.hpp"
#include "tests/support/result_rows.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::store {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kRun = "01J00000000000000000000001";

/// Runs `work` in a child; true if it returned true.
bool succeeds_in_child(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    bool good = false;
    try {
      good = work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Tells whether `call` fails as the machine's fault, with all of `words` in its text.
bool fails_with(const std::function<void()>& call, const std::vector<std::string>& words) {
  try {
    call();
  } catch (const Error& error) {
    const std::string text = error.what();
    bool good = error.kind() == Error::Kind::kEnvironment;
    for (const std::string& word : words) {
      good = good && text.find(word) != std::string::npos;
    }
    if (!good) {
      std::fprintf(stderr, "child: kind %d: %s\n", error.exit_status(), text.c_str());
    }
    return good;
  }
  std::fprintf(stderr, "child: nothing was thrown\n");
  return false;
}

/// Root may write anywhere: become nobody.
void drop_privileges() {
  if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
    throw std::runtime_error("cannot become nobody");
  }
}

class StoreFailure : public testing::Test {
 protected:
  StoreFailure() {
    const auto store = open_store(url());
    store->begin_run(test::header(kRun));
    store->append(kRun, std::vector<results::Measurement>{test::row(test::key(1), 5)});
  }
  ~StoreFailure() override { set_permissions(std::filesystem::perms::owner_all, folder_.path()); }
  [[nodiscard]] std::string url() const { return "sqlite:" + path_.string(); }
  static void set_permissions(std::filesystem::perms permissions, const std::filesystem::path& of) {
    std::filesystem::permissions(of, permissions);
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "store.db";
  static constexpr auto kReadOnlyFolder = static_cast<std::filesystem::perms>(0555);
  static constexpr auto kReadOnlyFile = static_cast<std::filesystem::perms>(0444);
};

TEST_F(StoreFailure, a_read_only_store_can_be_read_and_says_why_it_cannot_be_written) {
  set_permissions(kReadOnlyFile, path_);
  set_permissions(kReadOnlyFolder, folder_.path());
  EXPECT_TRUE(succeeds_in_child([&] {
    drop_privileges();
    const auto store = open_store(url());
    const bool readable = store->measurements(kRun).size() == 1 && store->verify().empty();
    return readable &&
           fails_with(
               [&] {
                 store->append(kRun, std::vector<results::Measurement>{test::row(test::key(2), 5)});
               },
               {path_.string(), "writable"}) &&
           fails_with([&] { store->tag(kRun, "main"); }, {"writable"});
  }));
}

TEST_F(StoreFailure, a_read_only_store_with_a_log_is_read_with_its_log) {
  EXPECT_TRUE(succeeds_in_child([&] {
    // The process ends without closing the store, so its log stays.
    Store* const store = open_store(url()).release();
    return store->take_run(kRun) &&
           store->append(kRun, std::vector<results::Measurement>{test::row(test::key(2), 5)})
                   .size() == 1;
  }));
  ASSERT_TRUE(std::filesystem::exists(path_.string() + "-wal"));
  std::filesystem::remove(path_.string() + "-shm");
  for (const char* const ending : {"", "-wal"}) {
    set_permissions(kReadOnlyFile, path_.string() + ending);
  }
  set_permissions(kReadOnlyFolder, folder_.path());
  EXPECT_TRUE(succeeds_in_child([&] {
    drop_privileges();
    const auto store = open_store(url());
    return store->measurements(kRun).size() == 2 && store->verify().empty() &&
           fails_with([&] { store->tag(kRun, "main"); }, {"writable"});
  }));
}

TEST_F(StoreFailure, a_store_that_is_deleted_or_replaced_takes_no_more_rows) {
  const std::vector<results::Measurement> rows{test::row(test::key(2), 5)};
  EXPECT_TRUE(succeeds_in_child([&] {
    const auto store = open_store(url());
    if (!store->take_run(kRun)) {
      return false;
    }
    std::filesystem::rename(path_, folder_.path() / "moved.db");
    const std::vector<std::string> words{path_.string(), "deleted, moved or replaced"};
    if (!fails_with([&] { store->append(kRun, rows); }, words)) {
      return false;
    }
    std::filesystem::copy_file(folder_.path() / "moved.db", path_);
    if (!fails_with([&] { store->append(kRun, rows); }, words)) {
      return false;
    }
    std::filesystem::rename(folder_.path() / "moved.db", path_);
    return store->append(kRun, rows).size() == 1;
  }));
}

TEST_F(StoreFailure, a_new_store_in_a_read_only_folder_is_refused) {
  set_permissions(kReadOnlyFolder, folder_.path());
  EXPECT_TRUE(succeeds_in_child([&] {
    drop_privileges();
    const std::string other = (folder_.path() / "other.db").string();
    return fails_with([&] { (void)open_store("sqlite:" + other); }, {other}) &&
           fails_with([&] { (void)open_store("sqlite:" + folder_.path().string() + "/a/b.db"); },
                      {"cannot make the folder"});
  }));
}

TEST_F(StoreFailure, a_full_disk_loses_only_what_did_not_fit) {
  EXPECT_TRUE(succeeds_in_child([&] {
    const auto store = open_store(url());
    if (!store->take_run(kRun)) {
      return false;
    }
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit full{200'000, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &full);
    std::vector<results::Measurement> many;
    for (int i = 0; i < 5000; ++i) {
      many.push_back(test::row(test::key(i), 5));
    }
    if (!fails_with([&] { store->append(kRun, many); }, {path_.string(), "safe"})) {
      return false;
    }
    const rlimit free{RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &free);
    // The same store goes on when there is space again, new keys included.
    store->append(kRun, std::vector<results::Measurement>{many[7]});
    return store->measurements(kRun).size() == 2;
  }));
  const auto store = open_store(url());
  EXPECT_THAT(store->measurements(kRun), SizeIs(2));
  EXPECT_THAT(store->verify(), IsEmpty());
}

}  // namespace
}  // namespace plumb::store
