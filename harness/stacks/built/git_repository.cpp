// SPDX-License-Identifier: Apache-2.0
#include "harness/stacks/built/git_repository.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/stacks/built/bounded_program.hpp"
#include "harness/stacks/installer.hpp"

namespace plumb::stacks {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxCommits = 100'000;
constexpr std::size_t kMaxSubject = 200;
constexpr ProgramLimits kQuestion{.time = Seconds(120.0), .output = std::size_t{64} << 20};
constexpr ProgramLimits kCheckOut{.time = Seconds(1800.0), .output = std::size_t{1} << 20};
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
                  const ProgramLimits& limits,
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
  GitRepository::Commit commit;
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

GitRepository::GitRepository(fs::path folder, const std::atomic<bool>& stop)
    : folder_(fs::absolute(folder)), stop_(stop) {
  const GitAnswer answer = ask_git(folder_, {"rev-parse", "--git-dir"}, kQuestion, stop_);
  if (!answer.end.problem.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' is no git repository that can be read: {}",
                            folder_.string(),
                            words_of(answer.end)));
  }
}

std::string GitRepository::resolve(const std::string& revision) const {
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

std::vector<std::string> GitRepository::ask(const std::vector<std::string>& arguments) const {
  const GitAnswer answer = ask_git(folder_, arguments, kQuestion, stop_);
  if (!answer.end.problem.empty()) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("git cannot list commits of '{}': {}", folder_.string(), words_of(answer.end)));
  }
  return lines_of(answer.output);
}

GitRepository::Range GitRepository::commits_between(const std::string& good,
                                                    const std::string& bad,
                                                    std::size_t max_listed) const {
  const std::string first = resolve(good);
  const std::string last = resolve(bad);
  GitRepository::Range range;
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

std::vector<GitRepository::Commit> GitRepository::first_parent_line(const std::string& good,
                                                     const std::string& bad) const {
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
  std::vector<GitRepository::Commit> line{log({"-1", first}).at(0).commit};
  std::transform(lines.rbegin(), lines.rend(), std::back_inserter(line), [](const LogLine& each) {
    return each.commit;
  });
  return line;
}

void GitRepository::check_out(const std::string& hash, const fs::path& folder) const {
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

}  // namespace plumb::stacks
