// SPDX-License-Identifier: Apache-2.0
#include "harness/base/work_clock.hpp"

namespace plumb {

Timestamp WorkClock::now() const {
  return begin_ + std::chrono::duration_cast<Timestamp::duration>(std::chrono::steady_clock::now() -
                                                                  steady_begin_);
}

std::optional<std::chrono::duration<double>> elapsed(Timestamp begin, Timestamp end) {
  return end < begin ? std::nullopt : std::optional<std::chrono::duration<double>>(end - begin);
}

}  // namespace plumb
