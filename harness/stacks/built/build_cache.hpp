// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/stacks/built/git_repository.hpp"

namespace plumb::stacks {

/// How a stack is built.
struct BuildRecipe {
  std::string command;                 ///< for `sh -c`, of a commit in its worktree
  std::filesystem::path stack_folder;  ///< where the built stack lies, relative to where it runs
  Seconds time_limit{7200.0};
};

/// Builds of commits below a folder of the user's cache, found by commit and recipe.
///
/// Each is a worktree of its own, which stays where it was built. Builds that a process uses stay.
/// Of the others the newest `keep` do. Several processes may share the folder: one builds what
/// another waits for. A build that was killed leaves a worktree that is removed with the next one.
class BuildCache {
 public:
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
  [[nodiscard]] Build find_or_build(const GitRepository& repository,
                                          const std::string& commit,
                                          const BuildRecipe& recipe,
                                          const std::function<void(Seconds)>& report) const;

 private:
  [[nodiscard]] Build build(const GitRepository& repository,
                                  const std::string& commit,
                                  const BuildRecipe& recipe,
                                  const std::filesystem::path& place,
                                  const std::function<void(Seconds)>& report) const;
  void remove_old() const;

  std::filesystem::path folder_;
  std::size_t keep_;
  const std::atomic<bool>& stop_;
};

}  // namespace plumb::stacks
