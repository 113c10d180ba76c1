// SPDX-License-Identifier: Apache-2.0
// Measures what measurements on this GPU rest on, and writes it as one JSON document: the event
// timer's tick, an empty pair of events, null graphs of several lengths, and the slope of replays
// beside plain event timing for writes of several sizes. Ends with 77 where there is no GPU.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/measure/sample_summary.hpp"
#include "runners/cuda/device_context.hpp"
#include "runners/cuda/device_memory.hpp"
#include "runners/cuda/kernel_library.hpp"
#include "runners/cuda/own/own_layer.hpp"
#include "runners/cuda/replay_clock.hpp"

namespace plumb::cuda {
namespace {

using nlohmann::json;

constexpr int kPairs = 2000;
constexpr int kSamples = 50;

json summary_of(const std::vector<Seconds>& samples) {
  const SampleSummary summary = summarize(samples);
  return {{"median_seconds", summary.median.count()},
          {"low_seconds", summary.interval.low.count()},
          {"high_seconds", summary.interval.high.count()},
          {"min_seconds", summary.min.count()},
          {"samples", summary.n}};
}

/// Times pairs of events with nothing between: their bias, and the smallest step of their clock.
json event_timer(const Driver& driver, const DeviceStream& stream) {
  const DeviceEvent begin(driver, true);
  const DeviceEvent end(driver, true);
  std::vector<Seconds> pairs;
  for (int i = 0; i < kPairs; ++i) {
    begin.record(stream.get());
    end.record(stream.get());
    end.synchronize();
    pairs.push_back(time_between(driver, begin, end));
  }
  json result = summary_of(pairs);
  std::sort(pairs.begin(), pairs.end());
  std::optional<Seconds> tick;
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    const Seconds step = pairs[i] - pairs[i - 1];
    if (step > Seconds(1e-12)) {
      tick = std::min(tick.value_or(step), step);
    }
  }
  result["tick_seconds"] = tick ? json(tick->count()) : json(nullptr);
  return result;
}

/// Times graphs of the smallest kernel there is of ours: what a launch and each node of it cost.
json null_graphs(const DeviceContext& context, const DeviceStream& stream, KernelLibrary& kernels) {
  const Driver& driver = context.driver();
  const LayerSpec spec = parse_key({"v1:view;in=f32[1];out=f32[1];acc=f32;math=strict"});
  const OwnLayer layer = own_layer(spec, TensorLayout::kChannelsFirst);
  const DeviceMemory from(driver, 4);
  const DeviceMemory to(driver, 4);
  const std::vector<abi::DevicePointer> buffers{from.address(), to.address()};
  const DeviceLaunch launch = kernels.step(layer.launches.at(0), {0, 1}).bind(buffers, 0);
  launch(stream.get());
  stream.synchronize();
  const DeviceEvent begin(driver, true);
  const DeviceEvent end(driver, true);
  json graphs = json::array();
  for (const int nodes : {1, 32, 256}) {
    const DeviceGraph graph(driver, stream, [&] {
      for (int i = 0; i < nodes; ++i) {
        launch(stream.get());
      }
    });
    std::vector<Seconds> samples;
    for (int i = 0; i < kSamples; ++i) {
      begin.record(stream.get());
      graph.launch(stream.get());
      end.record(stream.get());
      end.synchronize();
      samples.push_back(time_between(driver, begin, end));
    }
    json row = summary_of(samples);
    row["nodes"] = nodes;
    graphs.push_back(std::move(row));
  }
  return graphs;
}

/// Compares the slope of replays with one pair of events around each execution.
json slopes(const DeviceContext& context, const DeviceStream& stream) {
  const Driver& driver = context.driver();
  json rows = json::array();
  for (const std::size_t bytes :
       {std::size_t{1} << 12, std::size_t{1} << 22, std::size_t{1} << 26, std::size_t{1} << 28}) {
    const DeviceMemory memory(driver, bytes);
    ReplayClock clock(driver, stream, [&](std::size_t) {
      driver.check(driver.calls().memset_bytes(memory.address(), 0, bytes, stream.get()),
                   "writing memory");
    });
    const std::size_t slot = 0;
    std::vector<Seconds> replayed;
    std::vector<Seconds> single;
    std::size_t executions = 0;
    for (int i = 0; i < kSamples; ++i) {
      const DeviceSample sample = clock.sample(std::span(&slot, 1));
      executions = sample.executions;
      replayed.push_back(sample.each);
      single.push_back(clock.sample_once(slot).each);
    }
    rows.push_back({{"written_bytes", bytes},
                    {"executions", executions},
                    {"slope", summary_of(replayed)},
                    {"event_pair", summary_of(single)},
                    {"captured", clock.refusal().empty()},
                    {"refusal", clock.refusal()}});
  }
  return rows;
}

json checks() {
  const Driver driver;
  const Device device(driver);
  const DeviceContext context(device);
  const DeviceStream stream(driver);
  Environment environment;
  device.describe(environment);
  json document{{"schema_version", 1},
                {"identity", environment.identity},
                {"facts", environment.facts},
                {"event_timer", event_timer(driver, stream)},
                {"slopes", slopes(context, stream)}};
  KernelLibrary kernels(context);
  document["nvrtc"] = kernels.compiler_version();
  document["null_graphs"] = null_graphs(context, stream, kernels);
  return document;
}

}  // namespace
}  // namespace plumb::cuda

int main() {
  try {
    std::puts(plumb::cuda::checks().dump(2).c_str());
    return 0;
  } catch (const plumb::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.kind() == plumb::Error::Kind::kEnvironment ? 77 : error.exit_status();
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 70;
  }
}
