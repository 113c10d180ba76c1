// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace plumb::stacks {

/// Git repository that is only read, and whose commits are checked out elsewhere.
///
/// git is called by an argument vector. Its hooks are switched off, and no checkout of the user's
/// is touched. Every function throws Error{kUser} with git's own words if the repository or a
/// commit is not there, and Error{kEnvironment} if there is no git.
class GitRepository {
 public:
  /// One commit of a repository.
  struct Commit {
    std::string hash;     ///< 40 or 64 hex digits
    std::string subject;  ///< first line of its message, cut; any bytes
  };

  /// Commits that one commit has behind it and another has not.
  struct Range {
    std::size_t count = 0;
    std::vector<Commit> newest;  ///< the newest first; fewer than `count` where there are many
  };

  /// Keeps a reference to `stop`: once it is set, git is asked to end.
  GitRepository(std::filesystem::path folder, const std::atomic<bool>& stop);

  /// Returns the commits from `good` to `bad` along first parents, both included. Throws
  /// Error{kUser} if `good` does not lie on that line, naming what does.
  [[nodiscard]] std::vector<Commit> first_parent_line(const std::string& good,
                                                      const std::string& bad) const;
  /// Lists the commits that `bad` has and `good` has not, over all parents, and at most
  /// `max_listed` of them. None: `bad` is `good`, or older.
  [[nodiscard]] Range commits_between(const std::string& good,
                                      const std::string& bad,
                                      std::size_t max_listed) const;
  /// Checks a commit out into a folder that is not there yet, as a linked worktree without a
  /// branch.
  void check_out(const std::string& hash, const std::filesystem::path& folder) const;

 private:
  [[nodiscard]] std::vector<std::string> ask(const std::vector<std::string>& arguments) const;
  [[nodiscard]] std::string resolve(const std::string& revision) const;

  std::filesystem::path folder_;
  const std::atomic<bool>& stop_;
};

/// Removes what check_out() made, whatever state it is in.
void remove_worktree(const std::filesystem::path& folder);

/// Returns the commit that is checked out where a folder lies, with `-dirty` behind it if a file
/// that git knows was changed. Absent: the folder is in no repository, or there is no git.
[[nodiscard]] std::optional<std::string> commit_of_folder(const std::filesystem::path& folder);

}  // namespace plumb::stacks
