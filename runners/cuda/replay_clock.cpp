// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/replay_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "runners/cuda/blas/cublas_library.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/driver/dynamic_library.hpp"

namespace plumb::cuda {
namespace {

constexpr Seconds kReplay{1e-3};            // a tick of a microsecond is then a thousandth
constexpr std::size_t kMaxInReplay = 4096;  // instantiating more takes longer than it gains
constexpr std::size_t kTrial = 8;           // executions that the first guess of N is made from
constexpr int kAttempts = 3;                // a guess from a short replay is a rough one

}  // namespace

std::size_t executions_for(Seconds one, Seconds wanted, std::size_t slots, std::size_t most) {
  const std::size_t turn = std::max<std::size_t>(slots, 1);
  const double needed = one > Seconds(0.0) ? std::ceil(wanted / one) : static_cast<double>(most);
  const auto count = static_cast<std::size_t>(
      std::clamp(needed, 1.0, static_cast<double>(std::max<std::size_t>(most, 1))));
  return (count + turn - 1) / turn * turn;
}

ReplayClock::ReplayClock(const Driver& driver,
                         const DeviceStream& stream,
                         std::function<void(std::size_t slot)> enqueue)
    : driver_(driver),
      stream_(stream),
      enqueue_(std::move(enqueue)),
      begin_(driver, true),
      end_(driver, true) {}

void ReplayClock::enqueue_in_turn(std::span<const std::size_t> slots, std::size_t executions) {
  for (std::size_t i = 0; i < executions; ++i) {
    enqueue_(slots[i % slots.size()]);
  }
}

Seconds ReplayClock::timed(const std::function<void()>& work) {
  begin_.record(stream_.get());
  work();
  end_.record(stream_.get());
  end_.synchronize();
  return time_between(driver_, begin_, end_);
}

ReplayClock::Replay ReplayClock::prepared(std::span<const std::size_t> slots) {
  // A first call may load or allocate, which is not allowed while capturing.
  enqueue_in_turn(slots, slots.size());
  stream_.synchronize();
  const std::size_t trial = std::max(kTrial, slots.size());
  const Seconds one = timed([&] { enqueue_in_turn(slots, trial); }) / static_cast<double>(trial);
  Replay replay;
  replay.executions = executions_for(one, kReplay, slots.size(), kMaxInReplay);
  capture(slots, replay);
  // Outside of a graph small kernels wait for their launches, so that this N may be too small.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const worker::DeviceSample found = timed_replay(slots, replay);
    const std::size_t wanted = executions_for(found.each, kReplay, slots.size(), kMaxInReplay);
    if (wanted <= replay.executions) {
      break;
    }
    replay.executions = wanted;
    if (!replay.twice) {
      break;
    }
    capture(slots, replay);
  }
  return replay;
}

void ReplayClock::capture(std::span<const std::size_t> slots, Replay& replay) {
  const auto recapture = [&](std::optional<DeviceGraph>& graph, std::size_t executions) {
    std::optional<DeviceGraph> before = std::exchange(graph, std::nullopt);
    graph.emplace(
        driver_, stream_, [&] { enqueue_in_turn(slots, executions); }, std::move(before));
  };
  try {
    recapture(replay.once, replay.executions);
    recapture(replay.twice, 2 * replay.executions);
    for (const DeviceGraph* graph : {&*replay.once, &*replay.twice}) {
      graph->launch(stream_.get());
    }
    stream_.synchronize();
  } catch (const LibraryRefusal& words) {
    refusal_ = words.what();
  }
  if (!refusal_.empty()) {
    replay.once.reset();
    replay.twice.reset();
    fmt::print(stderr, "timed without a graph: {}\n", refusal_);
  }
  replay.outdated = false;
}

void ReplayClock::clear() {
  for (auto& [slots, replay] : replays_) {
    replay.outdated = true;
  }
}

const ReplayClock::Replay& ReplayClock::find_replay(std::span<const std::size_t> slots) {
  const std::vector<std::size_t> name(slots.begin(), slots.end());
  auto found = replays_.find(name);
  if (found == replays_.end()) {
    found = replays_.emplace(name, prepared(slots)).first;
  } else if (found->second.outdated) {
    enqueue_in_turn(slots, slots.size());
    stream_.synchronize();
    capture(slots, found->second);
  }
  return found->second;
}

std::size_t ReplayClock::replay(std::span<const std::size_t> slots) {
  const Replay& replay = find_replay(slots);
  if (replay.twice) {
    replay.twice->launch(stream_.get());
  } else {
    enqueue_in_turn(slots, 2 * replay.executions);
  }
  stream_.synchronize();
  return 2 * replay.executions;
}

worker::DeviceSample ReplayClock::sample(std::span<const std::size_t> slots) {
  return timed_replay(slots, find_replay(slots));
}

worker::DeviceSample ReplayClock::timed_replay(std::span<const std::size_t> slots,
                                               const Replay& replay) {
  const auto count = static_cast<double>(replay.executions);
  if (!replay.twice) {
    const Seconds whole = timed([&] { enqueue_in_turn(slots, replay.executions); });
    return {whole / count, whole / count, replay.executions};
  }
  const Seconds once = timed([&] { replay.once->launch(stream_.get()); });
  const Seconds twice = timed([&] { replay.twice->launch(stream_.get()); });
  // A disturbance of the shorter replay could make the time zero or negative. Then the longer one
  // counts alone.
  const Seconds at_most = twice / (2.0 * count);
  return {twice > once ? (twice - once) / count : at_most, at_most, replay.executions};
}

worker::DeviceSample ReplayClock::sample_once(std::size_t slot,
                                              const std::function<void()>& before) {
  before();
  const Seconds time = timed([&] { enqueue_(slot); });
  return {time, time, 1};
}

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
