// SPDX-License-Identifier: Apache-2.0
// Entry points of libcuda.so.1: streams, events and captures.
#include <utility>

#include "tests/support/cuda_driver/export.hpp"

namespace plumb::stand_in {
namespace {

constexpr unsigned kNoTiming = 2;  // CU_EVENT_DISABLE_TIMING

}  // namespace
}  // namespace plumb::stand_in

using namespace plumb::stand_in;  // NOLINT: the entry points have no namespace

PLUMB_EXPORT int cuStreamCreate(void** stream, unsigned flags) {
  PLUMB_CALL("cuStreamCreate");
  if (flags > 1) {
    return kInvalidValue;
  }
  *stream = device.create_stream(flags);
  return kSuccess;
}

PLUMB_EXPORT int cuStreamDestroy_v2(void* stream) {
  PLUMB_CALL("cuStreamDestroy_v2");
  Stream* const target = device.stream_of(stream);
  if (target == nullptr || target == device.legacy) {
    return kInvalidHandle;
  }
  device.destroy_stream(*target);
  return kSuccess;
}

PLUMB_EXPORT int cuStreamSynchronize(void* stream) {
  PLUMB_CALL("cuStreamSynchronize");
  Stream* const target = device.stream_of(stream);
  return target == nullptr ? kInvalidHandle : device.synchronize(call.lock(), *target);
}

PLUMB_EXPORT int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  PLUMB_CALL("cuStreamWaitEvent");
  Stream* const target = device.stream_of(stream);
  Event* const source = device.event_of(event);
  if (target == nullptr || source == nullptr) {
    return kInvalidHandle;
  }
  return flags != 0 ? kInvalidValue : device.stream_wait(*target, *source);
}

PLUMB_EXPORT int cuStreamBeginCapture_v2(void* stream, int mode) {
  PLUMB_CALL("cuStreamBeginCapture_v2");
  Stream* const target = device.stream_of(stream);
  if (target == nullptr) {
    return kInvalidHandle;
  }
  return mode < 0 || mode > 2 ? kInvalidValue : device.begin_capture(*target, mode);
}

PLUMB_EXPORT int cuStreamEndCapture(void* stream, void** graph) {
  PLUMB_CALL("cuStreamEndCapture");
  Stream* const target = device.stream_of(stream);
  if (target == nullptr) {
    return kInvalidHandle;
  }
  Graph* captured = nullptr;
  if (device.injected != 0 && target->capture != nullptr) {
    Machine::invalidate(*target->capture);
  }
  const int status = device.end_capture(*target, &captured);
  *graph = captured;
  return device.injected != 0 ? std::exchange(device.injected, 0) : status;
}

PLUMB_EXPORT int cuEventCreate(void** event, unsigned flags) {
  PLUMB_CALL("cuEventCreate");
  auto made = std::make_unique<Event>();
  made->flags = flags;
  *event = made.get();
  device.events.emplace(*event, std::move(made));
  return kSuccess;
}

PLUMB_EXPORT int cuEventDestroy_v2(void* event) {
  PLUMB_CALL("cuEventDestroy_v2");
  if (device.event_of(event) == nullptr) {
    return kInvalidHandle;
  }
  const auto at = device.events.find(event);
  device.destroyed.insert(event);
  device.old_events.push_back(std::move(at->second));
  device.events.erase(at);
  return kSuccess;
}

PLUMB_EXPORT int cuEventRecord(void* event, void* stream) {
  PLUMB_CALL("cuEventRecord");
  Event* const target = device.event_of(event);
  Stream* const source = device.stream_of(stream);
  return target == nullptr || source == nullptr ? kInvalidHandle : device.record(*target, *source);
}

PLUMB_EXPORT int cuEventRecordWithFlags(void* event, void* stream, unsigned flags) {
  PLUMB_CALL("cuEventRecordWithFlags");
  Event* const target = device.event_of(event);
  Stream* const source = device.stream_of(stream);
  if (target == nullptr || source == nullptr) {
    return kInvalidHandle;
  }
  switch (flags) {
    case 0:
      return device.record(*target, *source);
    case 1:  // CU_EVENT_RECORD_EXTERNAL
      return device.record_in_graph(*target, *source);
    default:
      return kInvalidValue;
  }
}

PLUMB_EXPORT int cuEventSynchronize(void* event) {
  PLUMB_CALL("cuEventSynchronize");
  Event* const target = device.event_of(event);
  if (target == nullptr) {
    return kInvalidHandle;
  }
  if (target->capture != nullptr) {
    Machine::invalidate(*target->capture);
    return kCapturedEvent;
  }
  device.wait(call.lock(), target->mark);
  return device.lost != 0 ? device.lost : std::exchange(device.injected, 0);
}

/// cuEventElapsedTime(): "If either event has not been recorded [...] CUDA_ERROR_INVALID_HANDLE",
/// the same for events without timing, and CUDA_ERROR_NOT_READY before both are completed.
PLUMB_EXPORT int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  PLUMB_CALL("cuEventElapsedTime");
  const Event* const first = device.event_of(begin);
  const Event* const last = device.event_of(end);
  if (first == nullptr || last == nullptr) {
    return kInvalidHandle;
  }
  for (const Event* const event : {first, last}) {
    if (event->capture != nullptr) {
      return kCapturedEvent;
    }
    if (event->mark == nullptr || (event->flags & kNoTiming) != 0) {
      return kInvalidHandle;
    }
  }
  if (!first->mark->done || !last->mark->done) {
    return kNotReady;
  }
  *milliseconds = static_cast<float>(
      (static_cast<double>(last->mark->clock) - static_cast<double>(first->mark->clock)) * 1e-6);
  return kSuccess;
}
