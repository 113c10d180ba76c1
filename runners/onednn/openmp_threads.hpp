// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace plumb::onednn {

/// Returns how many threads the library starts from the calling thread. Absent: its threads are not
/// OpenMP's.
[[nodiscard]] std::optional<int> openmp_threads();

/// Sets it, for the calling thread only. Nothing where openmp_threads() is absent.
void set_openmp_threads(int count);

/// Lets the calling thread run on the processors of so many of OpenMP's places only. A thread that
/// a bound one starts would else stay on that one's place. Nothing where threads are not bound.
void move_to_places(int first, int count);

/// Sets it while it lives.
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
