// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/step_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "runners/cuda/driver/library_refusal.hpp"

namespace plumb::cuda {

StepClock::StepClock(const Driver& driver,
                     const DeviceStream& stream,
                     std::span<const DeviceLaunch> launches)
    : driver_(driver), stream_(stream) {
  events_.reserve(launches.size() + 2);
  for (std::size_t i = 0; i < launches.size() + 2; ++i) {
    events_.emplace_back(driver, true);
  }
  try {
    graph_.emplace(driver, stream, [&] {
      events_[0].record_in_graph(stream.get());
      events_[1].record_in_graph(stream.get());
      for (std::size_t step = 0; step < launches.size(); ++step) {
        launches[step](stream.get());
        events_[step + 2].record_in_graph(stream.get());
      }
    });
  } catch (const LibraryRefusal& words) {
    refusal_ = words.what();
    fmt::print(stderr, "the time of each layer inside the model is unknown: {}\n", refusal_);
  }
}

std::vector<Seconds> StepClock::sample() {
  std::vector<Seconds> times;
  if (!graph_) {
    return times;
  }
  graph_->launch(stream_.get());
  stream_.synchronize();
  const Seconds nothing = time_between(driver_, events_[0], events_[1]);
  for (std::size_t i = 1; i + 1 < events_.size(); ++i) {
    const Seconds step = time_between(driver_, events_[i], events_[i + 1]);
    times.push_back(std::max(step - nothing, Seconds(0.0)));
  }
  return times;
}

}  // namespace plumb::cuda
