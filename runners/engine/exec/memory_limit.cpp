// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/memory_limit.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace plumb::engine {

std::optional<Bytes> available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::int64_t kibibytes = 0;
  for (std::string rest; file >> name >> kibibytes; std::getline(file, rest)) {
    if (name == "MemAvailable:") {
      return Bytes{kibibytes * 1024};
    }
  }
  return std::nullopt;
}

std::optional<Bytes> resident_memory() {
  malloc_trim(0);  // what was freed is not held
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0;
  std::int64_t resident = 0;
  std::int64_t of_files = 0;
  if (!(file >> size >> resident >> of_files)) {
    return std::nullopt;
  }
  return Bytes{(resident - of_files) * sysconf(_SC_PAGESIZE)};
}

void limit_memory(Bytes most) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static_cast<void>(most);
#else
  rlimit limit{};
  const auto bytes = static_cast<rlim_t>(most.value);
  if (getrlimit(RLIMIT_DATA, &limit) == 0 && bytes < limit.rlim_cur) {
    limit.rlim_cur = bytes;
    static_cast<void>(setrlimit(RLIMIT_DATA, &limit));  // refused: as before
  }
#endif
}

std::optional<Bytes> memory_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  return Bytes{static_cast<std::int64_t>(limit.rlim_cur)};
}

}  // namespace plumb::engine
