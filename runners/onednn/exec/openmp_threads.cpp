// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/openmp_threads.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

namespace plumb::onednn {
namespace {

// Looked up by name, because the stack decides which OpenMP is loaded, if any.
template <typename Function>
Function loaded(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

std::optional<int> openmp_threads() {
  using Get = int (*)();
  static const auto get = loaded<Get>("omp_get_max_threads");
  return get != nullptr ? std::optional(get()) : std::nullopt;
}

std::optional<int> openmp_processors() {
  using Get = int (*)();
  static const auto get = loaded<Get>("omp_get_num_procs");
  return get != nullptr ? std::optional(get()) : std::nullopt;
}

void set_openmp_threads(int count) {
  using Set = void (*)(int);
  static const auto set = loaded<Set>("omp_set_num_threads");
  if (set != nullptr) {
    set(count);
  }
}

void run_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  // How compilers start a parallel region: libgomp has it, and LLVM's and Intel's library as well.
  using Start = void (*)(void (*)(void*), void*, unsigned, unsigned);
  static const auto start = loaded<Start>("GOMP_parallel");
  struct Region {
    const std::function<void(std::size_t)>& work;
    std::size_t count;
    std::atomic<std::size_t> next{0};
    void run() {
      for (std::size_t i = next++; i < count; i = next++) {
        work(i);
      }
    }
  } region{work, count};
  const auto threads = static_cast<std::size_t>(std::max(1, openmp_threads().value_or(1)));
  if (start == nullptr || threads == 1 || count < 2) {
    region.run();
    return;
  }
  start([](void* shared) { static_cast<Region*>(shared)->run(); },
        &region,
        static_cast<unsigned>(std::min(threads, count)),
        0);
}

void move_to_places(int first, int count) {
  using Count = int (*)();
  using CountIn = int (*)(int);
  using Read = void (*)(int, int*);
  static const auto places = loaded<Count>("omp_get_num_places");
  static const auto size = loaded<CountIn>("omp_get_place_num_procs");
  static const auto read = loaded<Read>("omp_get_place_proc_ids");
  if (places == nullptr || size == nullptr || read == nullptr || first + count > places()) {
    return;
  }
  cpu_set_t processors;
  CPU_ZERO(&processors);
  for (int place = first; place < first + count; ++place) {
    std::vector<int> ids(static_cast<std::size_t>(size(place)));
    read(place, ids.data());
    for (const int id : ids) {
      CPU_SET(static_cast<std::size_t>(id), &processors);
    }
  }
  // A container with fewer processors may refuse; the thread then stays where it is.
  static_cast<void>(pthread_setaffinity_np(pthread_self(), sizeof(processors), &processors));
}

OpenmpThreads::OpenmpThreads(int count) : before_(openmp_threads()) {
  set_openmp_threads(count);
}

OpenmpThreads::~OpenmpThreads() {
  if (before_) {
    set_openmp_threads(*before_);
  }
}

}  // namespace plumb::onednn
