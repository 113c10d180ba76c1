// SPDX-License-Identifier: Apache-2.0
#include "harness/stacks/built/build_cache.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "harness/base/error.hpp"
#include "harness/stacks/built/bounded_program.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::stacks {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class BuildCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    git("git init -q -b main . && git config user.name t && git config user.email t@example.com");
    for (const char* const content : {"1", "2", "3"}) {
      git(std::string("echo ") + content + " > number && git add number && git commit -q -m 'set " +
          content + "'");
    }
  }

  void git(const std::string& command) {
    fs::create_directories(repository());
    const ProgramEnd end = run_build(
        command, repository(), Seconds(60.0), folder_.path() / "git.log", stop_, [](Seconds) {});
    ASSERT_THAT(end.problem, IsEmpty()) << command;
  }
  fs::path repository() const { return folder_.path() / "repository"; }
  fs::path cache_folder() const { return folder_.path() / "cache"; }

  BuildCache::Build build(const std::string& commit,
                          const BuildCache::Recipe& recipe,
                          std::size_t keep = 8) {
    return BuildCache(cache_folder(), keep, stop_)
        .find_or_build(BuildCache::Repository(repository(), stop_), commit, recipe, [](Seconds) {});
  }
  std::vector<BuildCache::Repository::Commit> line() {
    return BuildCache::Repository(repository(), stop_).first_parent_line("main~2", "main");
  }
  static std::string content(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::set<std::string> places() const {
    std::set<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(cache_folder())) {
      if (entry.is_directory()) {
        names.insert(entry.path().filename());
      }
    }
    return names;
  }

  std::atomic<bool> stop_{false};
  TemporaryFolder folder_;
  BuildCache::Recipe copy_{"mkdir out && cp number out/", "out"};
};

TEST_F(BuildCacheTest, lists_commits_along_first_parents) {
  const std::vector<BuildCache::Repository::Commit> commits = line();
  ASSERT_EQ(commits.size(), 3U);
  EXPECT_EQ(commits.front().subject, "set 1");
  EXPECT_EQ(commits.back().subject, "set 3");
  git("git checkout -q -b side main~1 && git commit -q --allow-empty -m aside && git checkout -q "
      "main && git merge -q --no-ff -m merged side");
  std::vector<std::string> subjects;
  for (const BuildCache::Repository::Commit& commit :
       BuildCache::Repository(repository(), stop_).first_parent_line("main~3", "main")) {
    subjects.push_back(commit.subject);
  }
  EXPECT_THAT(subjects, ElementsAre("set 1", "set 2", "set 3", "merged"));
  try {
    static_cast<void>(
        BuildCache::Repository(repository(), stop_).first_parent_line("side", "main"));
    FAIL() << "side is no first parent";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    EXPECT_THAT(error.what(), HasSubstr("first parents"));
  }
}

TEST_F(BuildCacheTest, lists_the_commits_that_one_has_and_another_has_not) {
  const BuildCache::Repository repository(this->repository(), stop_);
  git("git checkout -q -b side main~1 && git commit -q --allow-empty -m \"$(printf "
      "'a\\tside\\033[1m')\" && "
      "git checkout -q main && git merge -q --no-ff -m merged side");
  const BuildCache::Repository::Range range = repository.commits_between("main~2", "main", 2);
  EXPECT_EQ(range.count, 3U);
  ASSERT_EQ(range.newest.size(), 2U);
  EXPECT_EQ(range.newest[0].subject, "merged");
  std::set<std::string> subjects;
  for (const BuildCache::Repository::Commit& commit :
       repository.commits_between("main~2", "main", 20).newest) {
    subjects.insert(commit.subject);
  }
  EXPECT_EQ(subjects, (std::set<std::string>{"merged", "a\tside\033[1m", "set 3"}));
  EXPECT_EQ(repository.commits_between("main", "main~2", 20).count, 0U) << "the other way round";
  EXPECT_THROW(static_cast<void>(repository.commits_between("--output=x", "main", 20)), Error);
  EXPECT_THROW(static_cast<void>(repository.commits_between("main", std::string(40, 'a'), 20)),
               Error);
}

TEST_F(BuildCacheTest, refuses_what_is_no_commit_and_no_repository) {
  const BuildCache::Repository repository(this->repository(), stop_);
  for (const auto& [good, bad] : {std::pair{"none", "main"},
                                  {"main~2", "--all"},
                                  {"main", "main"},
                                  {"main", "main~2"},
                                  {"", "main"}}) {
    EXPECT_THROW(static_cast<void>(repository.first_parent_line(good, bad)), Error) << good << bad;
  }
  EXPECT_THROW(BuildCache::Repository(folder_.path() / "nowhere", stop_), Error);
}

TEST_F(BuildCacheTest, builds_each_commit_once_in_a_tree_of_its_own) {
  const std::string before = content(repository() / "number");
  std::vector<BuildCache::Build> builds;
  for (const BuildCache::Repository::Commit& commit : line()) {
    builds.push_back(build(commit.hash, copy_));
    EXPECT_THAT(builds.back().problem, IsEmpty());
    EXPECT_FALSE(builds.back().reused);
  }
  for (std::size_t i = 0; i < builds.size(); ++i) {
    EXPECT_EQ(content(builds[i].stack_folder / "number"), std::to_string(i + 1) + "\n");
    const BuildCache::Build again = build(line()[i].hash, copy_);
    EXPECT_TRUE(again.reused);
    EXPECT_EQ(again.stack_folder, builds[i].stack_folder);
  }
  EXPECT_FALSE(build(line()[0].hash, {"mkdir out", "out"}).reused) << "another command";
  EXPECT_EQ(content(repository() / "number"), before) << "the user's own checkout";
  EXPECT_FALSE(fs::exists(repository() / "out"));
}

TEST_F(BuildCacheTest, says_why_a_commit_is_not_built) {
  const std::string commit = line()[0].hash;
  const BuildCache::Build failed = build(commit, {"echo no such header; exit 2", "out"});
  EXPECT_THAT(failed.problem, HasSubstr("status 2"));
  EXPECT_THAT(failed.tail, ElementsAre("no such header"));
  EXPECT_THAT(content(failed.log), HasSubstr("no such header"));
  EXPECT_THAT(build(commit, {"true", "out"}).problem, HasSubstr("left no folder 'out'"));
  EXPECT_THAT(build(commit, {"sleep 60", "out", Seconds(0.3)}).problem, HasSubstr("stopped after"));
}

TEST_F(BuildCacheTest, keeps_what_is_in_use_and_the_newest) {
  const std::vector<BuildCache::Repository::Commit> commits = line();
  const BuildCache::Build held = build(commits[0].hash, copy_, 1);
  static_cast<void>(build(commits[1].hash, copy_, 1));
  static_cast<void>(build(commits[2].hash, copy_, 1));
  EXPECT_EQ(places().size(), 2U) << "the one in use, and the newest";
  EXPECT_TRUE(fs::exists(held.stack_folder / "number"));
  EXPECT_FALSE(build(commits[1].hash, copy_, 2).reused) << "it was removed";
}

TEST_F(BuildCacheTest, removes_what_a_killed_build_left) {
  const std::string commit = line()[0].hash;
  BuildCache::Build first = build(commit, copy_);
  first.lock.reset();
  const fs::path place = first.log.parent_path();
  fs::remove(place / "built.json");  // as if it had been killed before its end
  BuildCache::Build second = build(commit, copy_);
  EXPECT_FALSE(second.reused);
  EXPECT_NE(second.stack_folder, first.stack_folder);
  EXPECT_FALSE(fs::exists(first.stack_folder));
  second.lock.reset();
  std::ofstream(place / "built.json") << "{\"tree\": \"../../repository\"}";
  EXPECT_FALSE(build(commit, copy_).reused) << "a damaged record leads nowhere";
}

TEST_F(BuildCacheTest, builds_once_for_two_that_want_the_same) {
  const std::string commit = line()[0].hash;
  const BuildCache::Recipe slow{
      "sleep 0.5; mkdir out; echo x >> " + (folder_.path() / "count").string(), "out"};
  BuildCache::Build other;
  std::thread thread([&] { other = build(commit, slow); });
  const BuildCache::Build mine = build(commit, slow);
  thread.join();
  EXPECT_NE(mine.reused, other.reused);
  EXPECT_EQ(mine.stack_folder, other.stack_folder);
  EXPECT_EQ(content(folder_.path() / "count"), "x\n");
}

TEST_F(BuildCacheTest, ends_when_the_user_wants) {
  const std::string commit = line()[0].hash;
  const BuildCache::Repository repository(this->repository(), stop_);
  const BuildCache cache(cache_folder(), 8, stop_);
  const BuildCache::Build stopped =
      cache.find_or_build(repository, commit, {"sleep 60", "out"}, [&](Seconds) { stop_ = true; });
  EXPECT_TRUE(stopped.stopped);
  stop_ = false;
  EXPECT_FALSE(build(commit, copy_).reused);
}

TEST_F(BuildCacheTest, names_the_commit_of_a_folder) {
  fs::create_directories(repository() / "build");
  const std::string head = line()[2].hash;
  EXPECT_EQ(commit_of_folder(repository() / "build"), head);
  std::ofstream(repository() / "number") << "changed";
  EXPECT_EQ(commit_of_folder(repository() / "build"), head + "-dirty");
  EXPECT_EQ(commit_of_folder(folder_.path() / "elsewhere"), std::nullopt);
}

}  // namespace
}  // namespace plumb::stacks
