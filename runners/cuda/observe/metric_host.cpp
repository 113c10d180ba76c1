// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/observe/metric_host.hpp"

#include <fmt/format.h>

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

void end(const abi::MetricHostCalls& calls, void* host) {
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
    end(calls_, host_);
    throw;
  }
}

MetricHost::~MetricHost() {
  end(calls_, host_);
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
  end(calls, host);
  return there;
}

}  // namespace plumb::cuda
