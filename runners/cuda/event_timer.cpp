// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/event_timer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/measure/sample_summary.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/driver/device_memory.hpp"
#include "runners/cuda/driver/device_stream.hpp"
#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {
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
  const DeviceEvent begin(driver, true);
  const DeviceEvent end(driver, true);
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

std::vector<Seconds> null_graph_times(const DeviceContext& context,
                                      const DeviceStream& stream,
                                      KernelLibrary& kernels,
                                      std::size_t nodes,
                                      std::size_t samples) {
  const Driver& driver = context.driver();
  const model::LayerSpec spec =
      model::parse_key({"v1:view;in=f32[1];out=f32[1];acc=f32;math=strict"});
  const BuiltinLayer layer = builtin_layer(spec, TensorLayout::kChannelsFirst);
  const DeviceMemory from(driver, 4);
  const DeviceMemory to(driver, 4);
  const std::vector<abi::DevicePointer> buffers{from.address(), to.address()};
  const DeviceLaunch launch = kernels.step(layer.launches.at(0), {0, 1}).bind(buffers, 0);
  launch(stream.get());
  stream.synchronize();
  // Loading a kernel is not allowed while capturing. The launch above has loaded it.
  const DeviceGraph graph(driver, stream, [&] {
    for (std::size_t i = 0; i < nodes; ++i) {
      launch(stream.get());
    }
  });
  const DeviceEvent begin(driver, true);
  const DeviceEvent end(driver, true);
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

results::Facts event_timer_facts(const DeviceContext& context) {
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
