// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/observe/profiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "runners/cuda/observe/profiler_abi.hpp"

namespace plumb::cuda {
namespace {

const std::vector<std::string>& names() {
  static const std::vector<std::string> list{"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
  return list;
}

const char* what_helps(int status) {
  switch (status) {
    case abi::kInsufficientPrivileges:
      return "the driver allows counters only to administrators: run as root, or load the module "
             "nvidia with NVreg_RestrictProfilingToAdminUsers=0";
    case abi::kVirtualizedPrivileges:
      return "the hypervisor must allow profiling of its GPU";
    case abi::kConfidentialComputing:
      return "confidential computing must be off";
    case abi::kPartitionedGpu:
      return "profiling needs a whole GPU, not a part of one (MIG)";
    default:
      return "profiling needs a driver, and a process that no other profiler watches";
  }
}

}  // namespace

ProfilerLibrary::ProfilerLibrary()
    : library_(names(),
               "it comes with the CUDA toolkit (counters from 12.6 on), or as "
               "nvidia-cuda-cupti") {
  abi::for_each_profiler_text_call(
      calls_, [this](auto& call, const char* name) { library_.find(call, name); });
}

void ProfilerLibrary::check(int status, const char* what) const {
  if (status != abi::kProfilerSuccess) {
    const char* text = nullptr;
    static_cast<void>(calls_.result_text(status, &text));
    throw Error(Error::Kind::kEnvironment,
                fmt::format("CUPTI: {}: {} ({}): {}",
                            what,
                            text != nullptr ? text : "no description",
                            status,
                            what_helps(status)));
  }
}

std::string ProfilerLibrary::version() const {
  std::uint32_t number = 0;
  static_cast<void>(calls_.version(&number));
  return fmt::format("CUPTI {} ({})", number, library_.name());
}

namespace {

using Layout = abi::ProfilerCalls::RecordLayout;

constexpr std::size_t kNamedTimes = 8;  // launches of an execution with a reading of their own
constexpr double kNanosecond = 1e-9;

template <typename Value>
Value at(std::span<const std::byte> bytes, std::size_t offset) {
  Value value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

bool is_sound(const KernelTracer::Record& record) {
  const auto positive = [](std::int32_t extent) { return extent > 0; };
  return record.end >= record.begin && record.static_shared >= 0 && record.dynamic_shared >= 0 &&
         std::all_of(record.grid.begin(), record.grid.end(), positive) &&
         std::all_of(record.block.begin(), record.block.end(), positive);
}

double seconds(const KernelTracer::Record& record) {
  return static_cast<double>(record.end - record.begin) * kNanosecond;
}

/// Returns whether launch i of each execution is of the same kernel.
bool repeats(const std::vector<KernelTracer::Record>& records, std::size_t period) {
  for (std::size_t i = period; i < records.size(); ++i) {
    if (records[i].name != records[i - period].name) {
      return false;
    }
  }
  return true;
}

void add(results::Readings& readings, const std::string& name, const std::vector<double>& values) {
  if (const std::optional<results::Reading> reading = results::summarize_reading(values)) {
    readings[name] = *reading;
  }
}

void add_times(results::Readings& readings,
               const std::vector<KernelTracer::Record>& records,
               std::size_t period) {
  std::vector<double> whole(records.size() / period, 0.0);
  std::vector<std::vector<double>> each(std::min(period, kNamedTimes));
  for (std::size_t i = 0; i < records.size(); ++i) {
    whole[i / period] += seconds(records[i]);
    if (i % period < each.size()) {
      each[i % period].push_back(seconds(records[i]));
    }
  }
  add(readings, "kernel_seconds", whole);
  for (std::size_t i = 0; period > 1 && i < each.size(); ++i) {
    add(readings, fmt::format("kernel.{}_seconds", i + 1), each[i]);
  }
}

void add_gaps(results::Readings& readings, const std::vector<KernelTracer::Record>& records) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i].stream == records[i - 1].stream) {
      gaps.push_back(
          (static_cast<double>(records[i].begin) - static_cast<double>(records[i - 1].end)) *
          kNanosecond);
    }
  }
  add(readings, "launch_gap_seconds", gaps);
}

}  // namespace

std::optional<KernelTracer::Record> parse_kernel_record(std::span<const std::byte> bytes) {
  if (bytes.size() < Layout::kFront || at<int>(bytes, Layout::kKind) != abi::kConcurrentKernel) {
    return std::nullopt;
  }
  KernelTracer::Record record;
  record.registers = at<std::uint16_t>(bytes, Layout::kRegisters);
  record.begin = at<std::uint64_t>(bytes, Layout::kStart);
  record.end = at<std::uint64_t>(bytes, Layout::kEnd);
  record.stream = at<std::uint32_t>(bytes, Layout::kStream);
  record.grid = at<std::array<std::int32_t, 3>>(bytes, Layout::kGrid);
  record.block = at<std::array<std::int32_t, 3>>(bytes, Layout::kBlock);
  record.static_shared = at<std::int32_t>(bytes, Layout::kStaticShared);
  record.dynamic_shared = at<std::int32_t>(bytes, Layout::kDynamicShared);
  if (const char* const name = at<const char*>(bytes, Layout::kName)) {
    record.name.assign(name, ::strnlen(name, kLongestKernelName));
  }
  return is_sound(record) ? std::optional(std::move(record)) : std::nullopt;
}

worker::Program::Observation trace_observation(std::vector<KernelTracer::Record> records,
                                               std::size_t executions) {
  worker::Program::Observation seen;
  if (records.empty() || executions == 0) {
    return seen;
  }
  std::stable_sort(records.begin(), records.end(), [](const auto& a, const auto& b) {
    return a.begin < b.begin;
  });
  // Only where all executions launch the same kernels does each launch belong to a known one.
  std::size_t period = records.size() / executions;
  const bool even = period > 0 && records.size() % executions == 0 && repeats(records, period);
  if (even) {
    add_times(seen.readings, records, period);
  } else {
    double whole = 0.0;
    for (const KernelTracer::Record& record : records) {
      whole += seconds(record);
    }
    add(seen.readings, "kernel_seconds", {whole / static_cast<double>(executions)});
    period = records.size();
  }
  add_gaps(seen.readings, records);
  const std::vector<GraphContents::Kernel> once(
      records.begin(), records.begin() + static_cast<std::ptrdiff_t>(period));
  seen.attributes = kernel_attributes(once);
  return seen;
}

namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;
constexpr std::size_t kAlignment = 8;  // ACTIVITY_RECORD_ALIGNMENT

/// State that CUPTI's callbacks write to, since they take no argument of the caller's.
struct Gathered {
  std::mutex mutex;
  std::vector<KernelTracer::Record> records;
  int (*next)(std::uint8_t*, std::size_t, void**) = nullptr;
};

Gathered& gathered() {
  static Gathered all;
  return all;
}

void request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBuffer));
  *size = *buffer != nullptr ? kBuffer : 0;
  *most = 0;  // as many as fit
}

void complete_buffer(void* /*context*/,
                     std::uint32_t /*stream*/,
                     std::uint8_t* buffer,
                     std::size_t size,
                     std::size_t valid) {
  try {
    Gathered& all = gathered();
    const std::lock_guard lock(all.mutex);
    if (all.next != nullptr && all.records.size() < KernelTracer::kMaxRecords) {
      std::vector<KernelTracer::Record> more =
          kernel_records(std::span(buffer, std::min(size, valid)),
                         all.next,
                         KernelTracer::kMaxRecords - all.records.size());
      std::move(more.begin(), more.end(), std::back_inserter(all.records));
    }
  } catch (const std::exception&) {
    // The caller is a C library, which no exception may reach. Records are lost, and nothing else.
  }
  std::free(buffer);
}

}  // namespace

std::vector<KernelTracer::Record> kernel_records(std::span<std::uint8_t> buffer,
                                                 int (*next)(std::uint8_t*, std::size_t, void**),
                                                 std::size_t most) {
  std::vector<KernelTracer::Record> records;
  void* record = nullptr;
  const std::uint8_t* reached = nullptr;
  while (records.size() < most &&
         next(buffer.data(), buffer.size(), &record) == abi::kProfilerSuccess) {
    const auto* const begin = static_cast<const std::uint8_t*>(record);
    const std::uint8_t* const end = buffer.data() + buffer.size();
    const bool ahead =
        begin >= buffer.data() && begin < end && (reached == nullptr || begin > reached);
    if (!ahead) {
      break;
    }
    reached = begin;
    const auto left = static_cast<std::size_t>(end - begin);
    if (auto kernel = parse_kernel_record(std::as_bytes(std::span(begin, left)))) {
      records.push_back(*std::move(kernel));
    }
  }
  return records;
}

KernelTracer::KernelTracer() {
  abi::for_each_profiler_call(calls_,
                              [this](auto& call, const char* name) { library_.find(call, name); });
  {
    Gathered& all = gathered();
    const std::lock_guard lock(all.mutex);
    all.next = calls_.next_record;
  }
  library_.check(calls_.register_callbacks(request_buffer, complete_buffer), "taking its buffers");
  library_.check(calls_.enable(abi::kConcurrentKernel), "recording kernels");
}

KernelTracer::~KernelTracer() {
  static_cast<void>(calls_.disable(abi::kConcurrentKernel));
  static_cast<void>(calls_.flush(abi::kFlushForced));
}

std::vector<KernelTracer::Record> KernelTracer::record(const std::function<void()>& work) {
  library_.check(calls_.flush(abi::kFlushForced), "forgetting what was");
  Gathered& all = gathered();
  {
    const std::lock_guard lock(all.mutex);
    all.records.clear();
  }
  work();
  library_.check(calls_.flush(abi::kFlushForced), "handing over its records");
  const std::lock_guard lock(all.mutex);
  return std::exchange(all.records, {});
}

}  // namespace plumb::cuda
