// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

namespace plumb::onednn {

/// Returns how many threads the library starts from the calling thread. Returns nothing if they are
/// not OpenMP's.
[[nodiscard]] std::optional<int> openmp_threads();

/// Returns how many processors OpenMP's threads may use. Returns nothing if they are not OpenMP's.
[[nodiscard]] std::optional<int> openmp_processors();

/// Sets openmp_threads() for the calling thread only. Does nothing where it is absent.
void set_openmp_threads(int count);

/// Calls `work` with each number below `count`, on up to as many threads as the library would
/// start. Without OpenMP the calling thread does it all. `work` must not throw.
void run_parallel(std::size_t count, const std::function<void(std::size_t)>& work);

/// Lets the calling thread run only on the processors of `count` of OpenMP's places, from `first`
/// on. Otherwise a thread that a bound thread starts would stay on its place. Does nothing where
/// threads are not bound.
void move_to_places(int first, int count);

/// Scope in which the calling thread has another openmp_threads().
class OpenmpThreads {
 public:
  explicit OpenmpThreads(int count);
  ~OpenmpThreads();
  OpenmpThreads(const OpenmpThreads&) = delete;
  OpenmpThreads& operator=(const OpenmpThreads&) = delete;
  OpenmpThreads(OpenmpThreads&&) = delete;
  OpenmpThreads& operator=(OpenmpThreads&&) = delete;

 private:
  std::optional<int> before_;
};

}  // namespace plumb::onednn
