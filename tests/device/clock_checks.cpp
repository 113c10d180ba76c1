// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/measure/sample_summary.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/driver/device.hpp"
#include "runners/cuda/event_clock.hpp"
#include "runners/cuda/exec/kernel_library.hpp"
#include "runners/cuda/observe/profiler.hpp"
#include "tests/device/gpu_checks.hpp"

namespace plumb::device_checks {
namespace {

using namespace cuda;  // NOLINT: the checks are of this backend

using nlohmann::json;

constexpr int kPairs = 2000;

/// Times pairs of events with nothing between: their bias, and the smallest step of their clock.
json event_timer(const Driver& driver, const DeviceStream& stream) {
  const std::vector<Seconds> pairs = empty_event_pairs(stream, driver, kPairs);
  json result = summary_json(pairs);
  const std::optional<Seconds> tick = smallest_step(pairs);
  result["tick_seconds"] = tick ? json(tick->count()) : json(nullptr);
  return result;
}

/// Times graphs of the smallest kernel there is of ours: what a launch and each node of it cost.
json null_graphs(const Device::Context& context,
                 const DeviceStream& stream,
                 KernelLibrary& kernels,
                 int samples) {
  json graphs = json::array();
  for (const std::size_t nodes : {std::size_t{1}, std::size_t{32}, std::size_t{256}}) {
    json row = summary_json(
        null_graph_times(context, stream, kernels, nodes, static_cast<std::size_t>(samples)));
    row["nodes"] = nodes;
    graphs.push_back(std::move(row));
  }
  return graphs;
}

/// Compares the slope of replays with one pair of events around each execution.
json slopes(const Device::Context& context, const DeviceStream& stream, const CheckSizes& sizes) {
  const Driver& driver = context.driver();
  json rows = json::array();
  for (const std::size_t bytes :
       {std::size_t{1} << 12, std::size_t{1} << 22, std::size_t{1} << 26, std::size_t{1} << 28}) {
    if (bytes > sizes.largest) {
      continue;
    }
    const Device::Memory memory(driver, bytes);
    EventClock clock(driver, stream, [&](std::size_t) {
      driver.check(driver.calls().memset_bytes(memory.address(), 0, bytes, stream.get()),
                   "writing memory");
    });
    const std::size_t slot = 0;
    std::vector<Seconds> replayed;
    std::vector<Seconds> single;
    std::size_t executions = 0;
    for (int i = 0; i < sizes.samples; ++i) {
      const worker::Program::DeviceClock::Sample sample = clock.sample(std::span(&slot, 1));
      executions = sample.executions;
      replayed.push_back(sample.each);
      single.push_back(clock.sample_once(slot, [] {}).each);
    }
    rows.push_back({{"written_bytes", bytes},
                    {"executions", executions},
                    {"slope", summary_json(replayed)},
                    {"event_pair", summary_json(single)},
                    {"captured", clock.refusal().empty()},
                    {"refusal", clock.refusal()}});
  }
  return rows;
}

/// Kernel of ours that copies so many elements, as a launch.
struct Copy {
  Copy(const Driver& driver, KernelLibrary& kernels, std::int64_t elements)
      : from(driver, static_cast<std::size_t>(elements) * sizeof(float)),
        to(driver, static_cast<std::size_t>(elements) * sizeof(float)) {
    const model::LayerSpec spec = model::parse_key(
        {fmt::format("v1:view;in=f32[{0}];out=f32[{0}];acc=f32;math=strict", elements)});
    const BuiltinLayer layer = builtin_layer(spec, TensorLayout::kChannelsFirst);
    const std::vector<abi::DevicePointer> buffers{from.address(), to.address()};
    launch = kernels.step(layer.launches.at(0), {0, 1}).bind(buffers, 0);
  }
  Device::Memory from;
  Device::Memory to;
  DeviceLaunch launch;
};

json slope_of(const Driver& driver, const DeviceStream& stream, const Copy& copy, int samples) {
  EventClock clock(driver, stream, [&](std::size_t) { copy.launch(stream.get()); });
  const std::size_t slot = 0;
  std::vector<Seconds> times;
  for (int i = 0; i < samples; ++i) {
    times.push_back(clock.sample(std::span(&slot, 1)).each);
  }
  return summary_json(times);
}

/// Compares the slope of replays with the profiler's time of the same kernels, of about 2, 5, 20
/// and 100 microseconds; and the slope before the profiler is there with the slope once it is. The
/// last of all checks: a process that was profiled times nothing more.
json profiled_slopes(const Driver& driver,
                     const DeviceStream& stream,
                     KernelLibrary& kernels,
                     const CheckSizes& sizes) {
  constexpr std::size_t kLaunches = 50;
  json rows = json::array();
  std::vector<std::unique_ptr<Copy>> copies;
  for (const std::int64_t elements : {1 << 12, 1 << 20, 1 << 23, 1 << 26}) {
    if (static_cast<std::size_t>(elements) * sizeof(float) > sizes.largest) {
      continue;
    }
    copies.push_back(std::make_unique<Copy>(driver, kernels, elements));
    rows.push_back({{"elements", elements},
                    {"slope", slope_of(driver, stream, *copies.back(), sizes.samples)}});
  }
  try {
    KernelTracer tracer;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const worker::Program::Observation seen = trace_observation(tracer.record([&] {
        for (std::size_t launch = 0; launch < kLaunches; ++launch) {
          copies[i]->launch(stream.get());
        }
        stream.synchronize();
      }),
                                                                  kLaunches);
      for (const auto& [name, reading] : seen.readings) {
        rows[i][name] = {{"median", reading.median}, {"low", reading.low}, {"high", reading.high}};
      }
      rows[i]["slope_profiled"] = slope_of(driver, stream, *copies[i], sizes.samples);
    }
  } catch (const Error& missing) {
    return {{"missing", missing.what()}, {"rows", std::move(rows)}};
  }
  return {{"rows", std::move(rows)}};
}

}  // namespace

json summary_json(std::span<const Seconds> samples) {
  const measure::SampleSummary summary = measure::summarize(samples);
  return {{"median_seconds", summary.median.count()},
          {"low_seconds", summary.interval.low.count()},
          {"high_seconds", summary.interval.high.count()},
          {"min_seconds", summary.min.count()},
          {"samples", summary.n}};
}

json check_clocks(const CheckSizes& sizes) {
  const Driver driver;
  const Device device(driver);
  const Device::Context context(device);
  const DeviceStream stream(driver);
  results::Environment environment;
  device.describe(environment);
  json document{{"schema_version", 1},
                {"identity", environment.identity},
                {"facts", environment.facts},
                {"event_timer", event_timer(driver, stream)},
                {"slopes", slopes(context, stream, sizes)}};
  KernelLibrary kernels(context);
  document["nvrtc"] = kernels.compiler_version();
  document["null_graphs"] = null_graphs(context, stream, kernels, sizes.samples);
  document["profiled_slopes"] = profiled_slopes(driver, stream, kernels, sizes);
  return document;
}

}  // namespace plumb::device_checks
