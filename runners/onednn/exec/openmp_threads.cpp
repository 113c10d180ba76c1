// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/openmp_threads.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

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
