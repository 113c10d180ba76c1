// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/event_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/measure/sample_summary.hpp"
#include "runners/cuda/blas/cublas.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/driver/device.hpp"
#include "runners/cuda/driver/device_stream.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

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

EventClock::EventClock(const Driver& driver,
                       const DeviceStream& stream,
                       std::function<void(std::size_t slot)> enqueue)
    : driver_(driver),
      stream_(stream),
      enqueue_(std::move(enqueue)),
      begin_(driver, true),
      end_(driver, true) {}

void EventClock::enqueue_in_turn(std::span<const std::size_t> slots, std::size_t executions) {
  for (std::size_t i = 0; i < executions; ++i) {
    enqueue_(slots[i % slots.size()]);
  }
}

Seconds EventClock::timed(const std::function<void()>& work) {
  begin_.record(stream_.get());
  work();
  end_.record(stream_.get());
  end_.synchronize();
  return time_between(driver_, begin_, end_);
}

EventClock::Replay EventClock::prepared(std::span<const std::size_t> slots) {
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
    const worker::Program::DeviceClock::Sample found = timed_replay(slots, replay);
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

void EventClock::capture(std::span<const std::size_t> slots, Replay& replay) {
  const auto recapture = [&](std::optional<DeviceStream::Graph>& graph, std::size_t executions) {
    std::optional<DeviceStream::Graph> before = std::exchange(graph, std::nullopt);
    graph.emplace(
        driver_, stream_, [&] { enqueue_in_turn(slots, executions); }, std::move(before));
  };
  try {
    recapture(replay.once, replay.executions);
    recapture(replay.twice, 2 * replay.executions);
    for (const DeviceStream::Graph* graph : {&*replay.once, &*replay.twice}) {
      graph->launch(stream_.get());
    }
    stream_.synchronize();
  } catch (const DynamicLibrary::Refusal& words) {
    refusal_ = words.what();
  }
  if (!refusal_.empty()) {
    replay.once.reset();
    replay.twice.reset();
    fmt::print(stderr, "timed without a graph: {}\n", refusal_);
  }
  replay.outdated = false;
}

void EventClock::clear() {
  for (auto& [slots, replay] : replays_) {
    replay.outdated = true;
  }
}

const EventClock::Replay& EventClock::find_replay(std::span<const std::size_t> slots) {
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

std::size_t EventClock::replay(std::span<const std::size_t> slots) {
  const Replay& replay = find_replay(slots);
  if (replay.twice) {
    replay.twice->launch(stream_.get());
  } else {
    enqueue_in_turn(slots, 2 * replay.executions);
  }
  stream_.synchronize();
  return 2 * replay.executions;
}

worker::Program::DeviceClock::Sample EventClock::sample(std::span<const std::size_t> slots) {
  return timed_replay(slots, find_replay(slots));
}

worker::Program::DeviceClock::Sample EventClock::timed_replay(std::span<const std::size_t> slots,
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

worker::Program::DeviceClock::Sample EventClock::sample_once(std::size_t slot,
                                                             const std::function<void()>& before) {
  before();
  const Seconds time = timed([&] { enqueue_(slot); });
  return {time, time, 1};
}

EventClock::Steps::Steps(const Driver& driver,
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
  } catch (const DynamicLibrary::Refusal& words) {
    refusal_ = words.what();
    fmt::print(stderr, "the time of each layer inside the model is unknown: {}\n", refusal_);
  }
}

std::vector<Seconds> EventClock::Steps::sample() {
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

namespace {

constexpr std::size_t kPairs = 2000;
constexpr std::size_t kGraphs = 50;
constexpr std::size_t kManyNodes = 257;  // 256 more than one

std::string text(Seconds time) {
  return fmt::format("{:.4g}", time.count());
}

}  // namespace

std::vector<Seconds> empty_event_pairs(const DeviceStream& stream,
                                       const Driver& driver,
                                       std::size_t count) {
  const DeviceStream::Event begin(driver, true);
  const DeviceStream::Event end(driver, true);
  std::vector<Seconds> pairs;
  pairs.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    begin.record(stream.get());
    end.record(stream.get());
    end.synchronize();
    pairs.push_back(time_between(driver, begin, end));
  }
  return pairs;
}

std::optional<Seconds> smallest_step(std::vector<Seconds> times) {
  constexpr Seconds kRounding{1e-12};  // of milliseconds in a float
  std::sort(times.begin(), times.end());
  std::optional<Seconds> step;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const Seconds difference = times[i] - times[i - 1];
    if (difference > kRounding) {
      step = std::min(step.value_or(difference), difference);
    }
  }
  return step;
}

std::vector<Seconds> null_graph_times(const Device::Context& context,
                                      const DeviceStream& stream,
                                      KernelLibrary& kernels,
                                      std::size_t nodes,
                                      std::size_t samples) {
  const Driver& driver = context.driver();
  const model::LayerSpec spec =
      model::parse_key({"v1:view;in=f32[1];out=f32[1];acc=f32;math=strict"});
  const BuiltinLayer layer = builtin_layer(spec, TensorLayout::kChannelsFirst);
  const Device::Memory from(driver, 4);
  const Device::Memory to(driver, 4);
  const std::vector<abi::DevicePointer> buffers{from.address(), to.address()};
  const DeviceLaunch launch = kernels.step(layer.launches.at(0), {0, 1}).bind(buffers, 0);
  launch(stream.get());
  stream.synchronize();
  // Loading a kernel is not allowed while capturing. The launch above has loaded it.
  const DeviceStream::Graph graph(driver, stream, [&] {
    for (std::size_t i = 0; i < nodes; ++i) {
      launch(stream.get());
    }
  });
  const DeviceStream::Event begin(driver, true);
  const DeviceStream::Event end(driver, true);
  std::vector<Seconds> times;
  times.reserve(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    begin.record(stream.get());
    graph.launch(stream.get());
    end.record(stream.get());
    end.synchronize();
    times.push_back(time_between(driver, begin, end));
  }
  return times;
}

results::Facts event_timer_facts(const Device::Context& context) {
  results::Facts facts;
  const DeviceStream stream(context.driver());
  const std::vector<Seconds> pairs = empty_event_pairs(stream, context.driver(), kPairs);
  facts["measure.event_pair_seconds"] = text(measure::summarize(pairs).median);
  if (const std::optional<Seconds> tick = smallest_step(pairs)) {
    facts["measure.event_tick_seconds"] = text(*tick);
  }
  try {
    KernelLibrary kernels(context);
    const auto median = [&](std::size_t nodes) {
      return measure::summarize(null_graph_times(context, stream, kernels, nodes, kGraphs)).median;
    };
    const Seconds one = median(1);
    facts["measure.null_graph_seconds"] = text(one);
    facts["measure.null_graph_node_seconds"] =
        text((median(kManyNodes) - one) / static_cast<double>(kManyNodes - 1));
  } catch (const Unsupported& missing) {
    facts["measure.null_graph"] = missing.what();
  } catch (const Error& missing) {
    facts["measure.null_graph"] = missing.what();
  }
  return facts;
}

}  // namespace plumb::cuda
