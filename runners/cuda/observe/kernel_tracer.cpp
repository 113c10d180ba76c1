// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/observe/kernel_tracer.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <mutex>
#include <utility>

namespace plumb::cuda {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;
constexpr std::size_t kAlignment = 8;  // ACTIVITY_RECORD_ALIGNMENT

/// State that CUPTI's callbacks write to, since they take no argument of the caller's.
struct Gathered {
  std::mutex mutex;
  std::vector<KernelRecord> records;
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
      std::vector<KernelRecord> more =
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

std::vector<KernelRecord> kernel_records(std::span<std::uint8_t> buffer,
                                         int (*next)(std::uint8_t*, std::size_t, void**),
                                         std::size_t most) {
  std::vector<KernelRecord> records;
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

std::vector<KernelRecord> KernelTracer::record(const std::function<void()>& work) {
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
