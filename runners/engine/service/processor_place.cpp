// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/service/processor_place.hpp"

#include <sched.h>

#include <cstddef>
#include <vector>

namespace plumb::engine {

bool stay_on_processor(std::uint32_t place) {
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) {
    return false;
  }
  std::vector<std::size_t> processors;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &usable)) {
      processors.push_back(i);
    }
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processors[place % processors.size()], &one);
  return ::sched_setaffinity(0, sizeof one, &one) == 0;
}

}  // namespace plumb::engine
