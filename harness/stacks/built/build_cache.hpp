// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/units.hpp"

namespace plumb::stacks {

/// Removes what check_out() made, whatever state it is in.
void remove_worktree(const std::filesystem::path& folder);

/// Returns the commit that is checked out where a folder lies, with `-dirty` behind it if a file
/// that git knows was changed. Absent: the folder is in no repository, or there is no git.
[[nodiscard]] std::optional<std::string> commit_of_folder(const std::filesystem::path& folder);

/// Builds of commits below a folder of the user's cache, found by commit and recipe.
///
/// Each is a worktree of its own, which stays where it was built. Builds that a process uses stay.
/// Of the others the newest `keep` do. Several processes may share the folder: one builds what
/// another waits for. A build that was killed leaves a worktree that is removed with the next one.
class BuildCache {
 public:
  /// Git repository that is only read, and whose commits are checked out elsewhere.
  ///
  /// git is called by an argument vector. Its hooks are switched off, and no checkout of the user's
  /// is touched. Every function throws Error{kUser} with git's own words if the repository or a
  /// commit is not there, and Error{kEnvironment} if there is no git.
  class Repository {
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
    Repository(std::filesystem::path folder, const std::atomic<bool>& stop);

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

  /// How a stack is built.
  struct Recipe {
    std::string command;                 ///< for `sh -c`, of a commit in its worktree
    std::filesystem::path stack_folder;  ///< where the built stack lies, relative to where it runs
    Seconds time_limit{7200.0};
  };

  /// What has become of a commit. It is built if `problem` is empty.
  struct Build {
    /// Lock that keeps a build in the cache. It ends with this object or with the process.
    class Lock;

    std::filesystem::path stack_folder{};  ///< absolute
    bool reused = false;                   ///< it was in the cache
    bool stopped = false;                  ///< by the user
    std::string problem{};                 ///< why it is not built
    std::vector<std::string> tail{};       ///< the last lines of its log
    std::filesystem::path log{};
    std::shared_ptr<const Lock> lock{};
  };

  /// Keeps a reference to `stop`.
  BuildCache(std::filesystem::path folder, std::size_t keep, const std::atomic<bool>& stop);

  /// Returns the build of a commit, from the cache or built now. A command that fails, and one that
  /// leaves no stack folder, give a problem. `report` says how long it has been building. Throws
  /// Error{kEnvironment} if nothing can be checked out or written.
  [[nodiscard]] Build find_or_build(const Repository& repository,
                                    const std::string& commit,
                                    const Recipe& recipe,
                                    const std::function<void(Seconds)>& report) const;

 private:
  [[nodiscard]] Build build(const Repository& repository,
                            const std::string& commit,
                            const Recipe& recipe,
                            const std::filesystem::path& place,
                            const std::function<void(Seconds)>& report) const;
  void remove_old() const;

  std::filesystem::path folder_;
  std::size_t keep_;
  const std::atomic<bool>& stop_;
};

}  // namespace plumb::stacks
