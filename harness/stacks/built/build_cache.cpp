// SPDX-License-Identifier: Apache-2.0
#include "harness/stacks/built/build_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/base/ulid.hpp"
#include "harness/stacks/built/bounded_program.hpp"
#include "harness/stacks/stack_fetch.hpp"

namespace plumb::stacks {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxCommits = 100'000;
constexpr std::size_t kMaxSubject = 200;
constexpr ProgramEnd::Limits kQuestion{.time = Seconds(120.0), .output = std::size_t{64} << 20};
constexpr ProgramEnd::Limits kCheckOut{.time = Seconds(1800.0), .output = std::size_t{1} << 20};
const std::atomic<bool> kNeverStop{false};

bool is_hash(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

struct GitAnswer {
  ProgramEnd end;
  std::string output;
};

GitAnswer ask_git(const fs::path& folder,
                  const std::vector<std::string>& arguments,
                  const ProgramEnd::Limits& limits,
                  const std::atomic<bool>& stop) {
  const std::string git =
      find_program("git", "install git (Debian: apt install git), which --git and --build need");
  std::vector<std::string> all{
      "-C", folder.string(), "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  GitAnswer answer;
  answer.end = run_program(
      git,
      all,
      limits,
      stop,
      [&](std::string_view text) { answer.output += text; },
      [](Seconds) {});
  return answer;
}

/// Returns the lines of an answer. git's own messages may be among them.
std::vector<std::string> lines_of(const std::string& output) {
  std::vector<std::string> lines;
  std::istringstream stream(output);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string words_of(const ProgramEnd& end) {
  return end.tail.empty() ? end.problem : fmt::format("{}", fmt::join(end.tail, "; "));
}

/// One line of the log: a commit with its first parent.
struct LogLine {
  BuildCache::Repository::Commit commit;
  std::string parent;
};

std::optional<LogLine> parse_log_line(const std::string& line) {
  const std::size_t first = line.find('\t');
  const std::size_t second = first == std::string::npos ? first : line.find('\t', first + 1);
  if (second == std::string::npos || !is_hash(std::string_view(line).substr(0, first))) {
    return std::nullopt;
  }
  const std::string parents = line.substr(first + 1, second - first - 1);
  return LogLine{{line.substr(0, first), line.substr(second + 1, kMaxSubject)},
                 parents.substr(0, parents.find(' '))};
}

/// Returns the arguments of a log that parse_log() reads.
std::vector<std::string> log_arguments(const std::vector<std::string>& what) {
  std::vector<std::string> arguments{
      "log", "--no-show-signature", "--no-color", "--format=%H%x09%P%x09%s"};
  arguments.insert(arguments.end(), what.begin(), what.end());
  arguments.emplace_back("--");
  return arguments;
}

std::vector<LogLine> parse_log(const std::vector<std::string>& lines) {
  std::vector<LogLine> log;
  for (const std::string& line : lines) {
    if (std::optional<LogLine> parsed = parse_log_line(line)) {
      log.push_back(*std::move(parsed));
    }
  }
  return log;
}

}  // namespace

BuildCache::Repository::Repository(fs::path folder, const std::atomic<bool>& stop)
    : folder_(fs::absolute(folder)), stop_(stop) {
  const GitAnswer answer = ask_git(folder_, {"rev-parse", "--git-dir"}, kQuestion, stop_);
  if (!answer.end.problem.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' is no git repository that can be read: {}",
                            folder_.string(),
                            words_of(answer.end)));
  }
}

std::string BuildCache::Repository::resolve(const std::string& revision) const {
  if (revision.empty() || revision.front() == '-') {
    throw Error(Error::Kind::kUser, fmt::format("'{}' is not the name of a commit", revision));
  }
  const GitAnswer answer = ask_git(
      folder_, {"rev-parse", "--verify", "--quiet", revision + "^{commit}"}, kQuestion, stop_);
  for (const std::string& line : lines_of(answer.output)) {
    if (is_hash(line)) {
      return line;
    }
  }
  throw Error(Error::Kind::kUser,
              fmt::format("there is no commit '{}' in '{}': name a commit, a branch or a tag that "
                          "it has, or fetch it first",
                          revision,
                          folder_.string()));
}

std::vector<std::string> BuildCache::Repository::ask(
    const std::vector<std::string>& arguments) const {
  const GitAnswer answer = ask_git(folder_, arguments, kQuestion, stop_);
  if (!answer.end.problem.empty()) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("git cannot list commits of '{}': {}", folder_.string(), words_of(answer.end)));
  }
  return lines_of(answer.output);
}

BuildCache::Repository::Range BuildCache::Repository::commits_between(
    const std::string& good, const std::string& bad, std::size_t max_listed) const {
  const std::string first = resolve(good);
  const std::string last = resolve(bad);
  BuildCache::Repository::Range range;
  for (const std::string& line : ask({"rev-list", "--count", last, "^" + first, "--"})) {
    // git's messages may be among the lines.
    std::from_chars(line.data(), line.data() + line.size(), range.count);
  }
  for (LogLine& line : parse_log(
           ask(log_arguments({fmt::format("--max-count={}", max_listed), last, "^" + first})))) {
    range.newest.push_back(std::move(line.commit));
  }
  range.count = std::max(range.count, range.newest.size());
  return range;
}

std::vector<BuildCache::Repository::Commit> BuildCache::Repository::first_parent_line(
    const std::string& good, const std::string& bad) const {
  const std::string first = resolve(good);
  const std::string last = resolve(bad);
  const auto log = [&](std::vector<std::string> revisions) {
    revisions.insert(revisions.begin(), "--first-parent");
    return parse_log(ask(log_arguments(revisions)));
  };
  const std::vector<LogLine> lines = log({last, "^" + first});
  if (lines.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("there are no commits between {} and {}: --good is the older one, and "
                            "--bad one that came after it",
                            good,
                            bad));
  }
  if (lines.size() > kMaxCommits) {
    throw Error(Error::Kind::kUser,
                fmt::format("{} commits are between {} and {}: at most {} are searched",
                            lines.size(),
                            good,
                            bad,
                            kMaxCommits));
  }
  if (lines.back().parent != first) {
    throw Error(Error::Kind::kUser,
                fmt::format("{} is not on the line of first parents of {}: that line leaves the "
                            "commits before {} at {}; give --good {} to search it",
                            good,
                            bad,
                            good,
                            lines.back().parent,
                            lines.back().parent));
  }
  std::vector<BuildCache::Repository::Commit> line{log({"-1", first}).at(0).commit};
  std::transform(lines.rbegin(), lines.rend(), std::back_inserter(line), [](const LogLine& each) {
    return each.commit;
  });
  return line;
}

void BuildCache::Repository::check_out(const std::string& hash, const fs::path& folder) const {
  const GitAnswer answer =
      ask_git(folder_,
              {"worktree", "add", "--quiet", "--force", "--detach", folder.string(), hash},
              kCheckOut,
              stop_);
  if (!answer.end.problem.empty() && !answer.end.stopped) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format(
            "git cannot check {} out into '{}': {}", hash, folder.string(), words_of(answer.end)));
  }
}

void remove_worktree(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) {
    return;
  }
  if (fs::exists(folder / ".git", ignored)) {
    try {
      static_cast<void>(ask_git(folder,
                                {"worktree", "remove", "--force", "--force", folder.string()},
                                kQuestion,
                                kNeverStop));
    } catch (const Error&) {
      // Without git the files go all the same, and `git worktree prune` removes its entry.
    }
  }
  fs::remove_all(folder, ignored);
}

std::optional<std::string> commit_of_folder(const fs::path& folder) {
  try {
    const GitAnswer head =
        ask_git(folder, {"rev-parse", "--verify", "--quiet", "HEAD"}, kQuestion, kNeverStop);
    const std::vector<std::string> lines = lines_of(head.output);
    const auto hash = std::find_if(
        lines.begin(), lines.end(), [](const std::string& line) { return is_hash(line); });
    if (!head.end.problem.empty() || hash == lines.end()) {
      return std::nullopt;
    }
    const GitAnswer changed = ask_git(folder,
                                      {"--no-optional-locks",
                                       "diff",
                                       "--quiet",
                                       "--no-ext-diff",
                                       "--ignore-submodules=dirty",
                                       "HEAD",
                                       "--"},
                                      kQuestion,
                                      kNeverStop);
    return changed.end.problem.empty() ? *hash : *hash + "-dirty";
  } catch (const Error&) {
    return std::nullopt;
  }
}

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

std::string key_of(const std::string& commit, const BuildCache::Recipe& recipe) {
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

BuildCache::Build BuildCache::find_or_build(const BuildCache::Repository& repository,
                                            const std::string& commit,
                                            const BuildCache::Recipe& recipe,
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

BuildCache::Build BuildCache::build(const BuildCache::Repository& repository,
                                    const std::string& commit,
                                    const BuildCache::Recipe& recipe,
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
