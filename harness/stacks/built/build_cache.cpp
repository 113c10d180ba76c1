// SPDX-License-Identifier: Apache-2.0
#include "harness/stacks/built/build_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/base/ulid.hpp"
#include "harness/stacks/built/bounded_program.hpp"

namespace plumb::stacks {

namespace fs = std::filesystem;

/// Lock on one byte of the cache's lock file. The kernel drops it when the process dies.
class BuildCache::Build::Lock {
 public:
  /// `key` begins with hex digits, which choose the byte.
  Lock(const fs::path& cache, const std::string& key)
      : file_(::open((cache / ".locks").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)),
        byte_(static_cast<off_t>(std::stoull(key.substr(0, 12), nullptr, 16))) {
    if (file_.number() < 0) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("cannot open '{}': {}: check the folder and its permissions",
                              (cache / ".locks").string(),
                              std::strerror(errno)));
    }
  }

  /// Takes the lock, or changes it, if no other process is in the way.
  [[nodiscard]] bool try_shared() const { return set(F_RDLCK); }
  [[nodiscard]] bool try_alone() const { return set(F_WRLCK); }
  void release() const { static_cast<void>(set(F_UNLCK)); }

 private:
  [[nodiscard]] bool set(short kind) const {
    struct flock range {};
    range.l_type = kind;
    range.l_whence = SEEK_SET;
    range.l_start = byte_;
    range.l_len = 1;
    return ::fcntl(file_.number(), F_OFD_SETLK, &range) == 0;
  }

  FileDescriptor file_;
  off_t byte_;
};

namespace {

constexpr std::uintmax_t kLargestRecord = std::uintmax_t{64} << 10;

std::string key_of(const std::string& commit, const BuildRecipe& recipe) {
  const nlohmann::json text{commit, recipe.command, path_text(recipe.stack_folder)};
  return sha256(json_text(text)).substr(0, 24);
}

/// Returns the worktree of a finished build. Absent: there is none.
std::optional<fs::path> finished_tree(const fs::path& place) {
  std::error_code error;
  const fs::path file = place / "built.json";
  if (fs::file_size(file, error) > kLargestRecord || error) {
    return std::nullopt;
  }
  std::ifstream in(file, std::ios::binary);
  const nlohmann::json record = nlohmann::json::parse(in, nullptr, false);
  if (!record.is_object() || !record.contains("tree") || !record["tree"].is_string()) {
    return std::nullopt;
  }
  const fs::path name = record["tree"].get<std::string>();
  return name.has_parent_path() || !fs::is_directory(place / name, error)
             ? std::nullopt
             : std::optional(place / name);
}

/// Removes what a place holds but its log.
void clear(const fs::path& place) {
  std::error_code error;
  fs::remove(place / "built.json", error);
  std::vector<fs::path> trees;
  for (fs::directory_iterator entry(place, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with("tree-")) {
      trees.push_back(entry->path());
    }
  }
  for (const fs::path& tree : trees) {
    remove_worktree(tree);
  }
}

/// Marks a build as used now.
void touch(const fs::path& place) {
  std::error_code ignored;
  fs::last_write_time(place / "built.json", fs::file_time_type::clock::now(), ignored);
}

}  // namespace

BuildCache::BuildCache(fs::path folder, std::size_t keep, const std::atomic<bool>& stop)
    : folder_(fs::absolute(folder)), keep_(keep), stop_(stop) {
  make_folder(folder_);
}

BuildCache::Build BuildCache::find_or_build(const GitRepository& repository,
                                      const std::string& commit,
                                      const BuildRecipe& recipe,
                                      const std::function<void(Seconds)>& report) const {
  const std::string key = key_of(commit, recipe);
  const fs::path place = folder_ / key;
  const auto lock = std::make_shared<const Build::Lock>(folder_, key);
  const Seconds start = steady_time();
  while (!stop_.load()) {
    if (lock->try_shared()) {
      if (const std::optional<fs::path> tree = finished_tree(place)) {
        touch(place);
        return {.stack_folder = (*tree / recipe.stack_folder).lexically_normal(),
                .reused = true,
                .log = place / "log",
                .lock = lock};
      }
      lock->release();  // two that both had it would wait for each other
    }
    if (lock->try_alone()) {
      Build built =
          finished_tree(place) ? Build{} : build(repository, commit, recipe, place, report);
      if (built.problem.empty() && built.stack_folder.empty()) {
        lock->release();  // another process has built it meanwhile
        continue;
      }
      static_cast<void>(lock->try_shared());
      built.lock = lock;
      remove_old();
      return built;
    }
    report(steady_time() - start);  // another process builds it
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return {.stopped = true, .problem = "was interrupted"};
}

BuildCache::Build BuildCache::build(const GitRepository& repository,
                              const std::string& commit,
                              const BuildRecipe& recipe,
                              const fs::path& place,
                              const std::function<void(Seconds)>& report) const {
  make_folder(place);
  clear(place);
  // A new name: processes that a killed build left behind may still write into the old one.
  const std::string name = "tree-" + new_ulid();
  const fs::path tree = place / name;
  Build result;
  result.log = place / "log";
  const Seconds start = steady_time();
  repository.check_out(commit, tree);
  if (!stop_.load()) {
    ProgramEnd end = run_build(recipe.command, tree, recipe.time_limit, result.log, stop_, report);
    result.problem = end.problem.empty() ? "" : "the build command " + end.problem;
    result.tail = std::move(end.tail);
  }
  std::error_code error;
  result.stack_folder = (tree / recipe.stack_folder).lexically_normal();
  if (stop_.load()) {
    result.stopped = true;
    result.problem = "was interrupted";
  } else if (result.problem.empty() && !fs::is_directory(result.stack_folder, error)) {
    result.problem = fmt::format("the build left no folder '{}'", path_text(recipe.stack_folder));
  }
  if (!result.problem.empty()) {
    remove_worktree(tree);
    return result;
  }
  const nlohmann::json record{{"tree", name},
                              {"commit", commit},
                              {"command", recipe.command},
                              {"stack_folder", path_text(recipe.stack_folder)},
                              {"build_seconds", (steady_time() - start).count()}};
  write_whole_file(place / "built.json",
                   [&](std::ostream& out) { out << json_text(record, 1) << '\n'; });
  return result;
}

/// Removes the builds beyond those to keep that no process uses, the longest unused first.
void BuildCache::remove_old() const {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> places;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code none;
    if (name.size() == 24 && name.find_first_not_of("0123456789abcdef") == std::string::npos) {
      const auto used = fs::last_write_time(entry->path() / "built.json", none);
      places.emplace_back(none ? fs::last_write_time(entry->path(), none) : used, entry->path());
    }
  }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i + keep_ < places.size(); ++i) {
    const fs::path& place = places[i].second;
    const Build::Lock lock(folder_, place.filename().string());
    if (lock.try_alone()) {
      clear(place);
      std::error_code ignored;
      fs::remove_all(place, ignored);
    }
  }
}

}  // namespace plumb::stacks
