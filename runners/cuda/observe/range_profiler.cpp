// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/observe/range_profiler.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "harness/base/error.hpp"
#include "runners/cuda/observe/profiler_abi.hpp"

namespace plumb::cuda {
namespace {

abi::MetricHostCalls find_calls(const ProfilerLibrary& library) {
  abi::MetricHostCalls calls;
  abi::for_each_metric_host_call(calls,
                                 [&](auto& call, const char* name) { library.find(call, name); });
  return calls;
}

void* begin(const ProfilerLibrary& library,
            const abi::MetricHostCalls& calls,
            const CountedChip& chip) {
  abi::HostBeginParams params;
  params.chip = chip.name.c_str();
  params.availability = chip.availability.empty() ? nullptr : chip.availability.data();
  library.check(calls.begin(&params), fmt::format("what the chip {} can count", chip.name).c_str());
  return params.host;
}

void end_host(const abi::MetricHostCalls& calls, void* host) {
  abi::HostEndParams params;
  params.host = host;
  static_cast<void>(calls.end(&params));
}

int add(const abi::MetricHostCalls& calls, void* host, std::vector<const char*> names) {
  abi::HostMetricsParams params;
  params.host = host;
  params.names = names.data();
  params.count = names.size();
  return calls.add_metrics(&params);
}

}  // namespace

MetricHost::MetricHost(const ProfilerLibrary& library,
                       const CountedChip& chip,
                       const std::vector<std::string>& metrics)
    : library_(library),
      calls_(find_calls(library)),
      metrics_(metrics),
      host_(begin(library, calls_, chip)) {
  try {
    library_.check(add(calls_, host_, names()), "choosing metrics");
    configure();
  } catch (const Error&) {
    end_host(calls_, host_);
    throw;
  }
}

MetricHost::~MetricHost() {
  end_host(calls_, host_);
}

void MetricHost::configure() {
  abi::HostImageSizeParams size;
  size.host = host_;
  library_.check(calls_.image_size(&size), "the size of the counters' settings");
  if (size.image_bytes == 0 || size.image_bytes > kLargestImage) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("CUPTI: settings of {} bytes for the counters", size.image_bytes));
  }
  image_.resize(size.image_bytes);
  abi::HostImageParams image;
  image.host = host_;
  image.image_bytes = image_.size();
  image.image = image_.data();
  library_.check(calls_.image(&image), "the counters' settings");
  abi::HostPassesParams passes;
  passes.image_bytes = image_.size();
  passes.image = image_.data();
  library_.check(calls_.passes(&passes), "counting passes");
  passes_ = passes.passes;
}

std::vector<const char*> MetricHost::names() const {
  std::vector<const char*> names;
  names.reserve(metrics_.size());
  for (const std::string& metric : metrics_) {
    names.push_back(metric.c_str());
  }
  return names;
}

std::vector<double> MetricHost::values(std::span<const std::uint8_t> data,
                                       std::size_t range) const {
  std::vector<const char*> wanted = names();
  std::vector<double> values(wanted.size());
  abi::HostValuesParams params;
  params.host = host_;
  params.data = data.data();
  params.data_bytes = data.size();
  params.range = range;
  params.names = wanted.data();
  params.count = wanted.size();
  params.values = values.data();
  library_.check(calls_.values(&params), "what the counters counted");
  return values;
}

bool has_metric(const ProfilerLibrary& library,
                const CountedChip& chip,
                const std::string& metric) {
  const abi::MetricHostCalls calls = find_calls(library);
  void* const host = begin(library, calls, chip);
  const bool there = add(calls, host, {metric.c_str()}) == abi::kProfilerSuccess;
  end_host(calls, host);
  return there;
}

namespace {

constexpr std::size_t kLargestData = std::size_t{256} << 20;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(Error::Kind::kEnvironment, "CUPTI: " + why);
}

}  // namespace

/// Profiling session that holds a context's counters for its lifetime.
class RangeProfiler::Session {
 public:
  Session(const RangeProfiler& owner, const DeviceContext& context)
      : library_(owner.library_), calls_(owner.calls_) {
    abi::RangeBeginParams params;
    params.context = context.get();
    library_.check(calls_.begin(&params), "taking the GPU's counters");
    profiler_ = params.profiler;
  }
  ~Session() {
    abi::RangeParams params = range();
    static_cast<void>(calls_.end(&params));
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;

  /// Sets the counters, and returns the buffer in which their values are gathered.
  std::vector<std::uint8_t> set(const MetricHost& metrics, std::size_t ranges) const {
    std::vector<const char*> names = metrics.names();
    abi::RangeDataSizeParams size;
    size.profiler = profiler_;
    size.names = names.data();
    size.count = names.size();
    size.ranges = ranges;
    size.nodes = static_cast<std::uint32_t>(ranges);
    library_.check(calls_.data_size(&size), "the size of what is counted");
    if (size.data_bytes == 0 || size.data_bytes > kLargestData) {
      refuse(fmt::format("{} bytes of counts", size.data_bytes));
    }
    std::vector<std::uint8_t> data(size.data_bytes);
    abi::RangeDataParams place;
    place.profiler = profiler_;
    place.data_bytes = data.size();
    place.data = data.data();
    library_.check(calls_.data(&place), "a place for counts");
    abi::RangeSetParams settings;
    settings.profiler = profiler_;
    settings.image_bytes = metrics.image().size();
    settings.image = metrics.image().data();
    settings.data_bytes = data.size();
    settings.data = data.data();
    settings.ranges = ranges;
    library_.check(calls_.set(&settings), "setting the counters");
    return data;
  }

  /// Counts one pass over all ranges. Returns whether it was the last.
  bool pass(std::size_t ranges, const std::function<void()>& work) const {
    abi::RangeParams params = range();
    library_.check(calls_.start(&params), "starting the counters");
    for (std::size_t i = 0; i < ranges; ++i) {
      const std::string name = fmt::format("{}", i);
      abi::RangePushParams push;
      push.profiler = profiler_;
      push.name = name.c_str();
      library_.check(calls_.push(&push), "beginning a range");
      work();
      library_.check(calls_.pop(&params), "ending a range");
    }
    abi::RangeStopParams stop;
    stop.profiler = profiler_;
    library_.check(calls_.stop(&stop), "stopping the counters");
    return stop.all_passes != 0;
  }

  void decode(const std::vector<std::uint8_t>& data, std::size_t ranges) const {
    abi::RangeDecodeParams decoded;
    decoded.profiler = profiler_;
    library_.check(calls_.decode(&decoded), "reading the counters");
    abi::RangeCountParams counted;
    counted.data = data.data();
    counted.data_bytes = data.size();
    library_.check(calls_.count(&counted), "the number of ranges");
    if (decoded.dropped != 0 || counted.ranges != ranges) {
      refuse(fmt::format(
          "{} of {} ranges counted, {} dropped", counted.ranges, ranges, decoded.dropped));
    }
  }

 private:
  [[nodiscard]] abi::RangeParams range() const {
    abi::RangeParams params;
    params.profiler = profiler_;
    return params;
  }

  const ProfilerLibrary& library_;
  const abi::RangeProfilerCalls& calls_;
  void* profiler_ = nullptr;
};

RangeProfiler::RangeProfiler() {
  abi::for_each_range_profiler_call(
      calls_, [this](auto& call, const char* name) { library_.find(call, name); });
  abi::ProfilerParams params;
  library_.check(calls_.initialize(&params), "its start");
}

RangeProfiler::~RangeProfiler() {
  abi::ProfilerParams params;
  static_cast<void>(calls_.finish(&params));
}

CountedChip RangeProfiler::chip(const DeviceContext& context) const {
  context.use();
  CountedChip chip;
  abi::ChipNameParams name;
  library_.check(calls_.chip_name(&name), "the chip's name");
  if (name.name == nullptr) {
    refuse("the GPU's chip has no name");
  }
  chip.name = name.name;
  abi::AvailabilityParams availability;
  availability.context = context.get();
  library_.check(calls_.availability(&availability), "which counters can be read");
  if (availability.image_bytes > MetricHost::kLargestImage) {
    refuse(fmt::format("{} bytes of counters", availability.image_bytes));
  }
  chip.availability.resize(availability.image_bytes);
  availability.image = chip.availability.data();
  library_.check(calls_.availability(&availability), "which counters can be read");
  return chip;
}

std::vector<std::vector<double>> RangeProfiler::count(const DeviceContext& context,
                                                      const MetricHost& metrics,
                                                      std::size_t ranges,
                                                      const std::function<void()>& work) const {
  if (metrics.passes() > kMaxPasses) {
    refuse(fmt::format(
        "these metrics take {} passes, more than {}: ask for fewer", metrics.passes(), kMaxPasses));
  }
  const Session session(*this, context);
  const std::vector<std::uint8_t> data = session.set(metrics, ranges);
  std::size_t passes = 1;
  while (!session.pass(ranges, work)) {
    if (++passes > kMaxPasses) {
      refuse(fmt::format("no end after {} passes", kMaxPasses));
    }
  }
  session.decode(data, ranges);
  std::vector<std::vector<double>> values;
  for (std::size_t i = 0; i < ranges; ++i) {
    values.push_back(metrics.values(data, i));
  }
  return values;
}

}  // namespace plumb::cuda
