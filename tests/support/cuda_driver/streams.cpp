// SPDX-License-Identifier: Apache-2.0
// Streams: queues of work, each with a thread, and events.
#include <algorithm>
#include <chrono>
#include <utility>

#include "tests/support/cuda_driver/kernel_module.hpp"
#include "tests/support/cuda_driver/machine.hpp"

namespace plumb::stand_in {
namespace {

constexpr unsigned kNonBlocking = 1;      // CU_STREAM_NON_BLOCKING
constexpr unsigned kDelayedOneIn = 8;     // works
constexpr unsigned kPermilleOfOrder = 2;  // a node is taken out of turn one time in so many

}  // namespace

Stream* Machine::create_stream(unsigned flags) {
  auto stream = std::make_unique<Stream>();
  stream->flags = flags;
  stream->lane = new_lane();
  Stream* const handle = stream.get();
  streams.emplace(handle, std::move(stream));
  return handle;
}

Stream* Machine::stream_of(void* handle) {
  constexpr std::uintptr_t kLegacy = 1;  // CU_STREAM_LEGACY
  if (reinterpret_cast<std::uintptr_t>(handle) <= kLegacy) {
    return legacy;
  }
  const auto at = streams.find(handle);
  if (at == streams.end()) {
    found_dead_handle("stream", handle);
    return nullptr;
  }
  return at->second.get();
}

void Machine::destroy_stream(Stream& stream) {
  if (stream.capture != nullptr) {
    findings.add("capture", "a stream is destroyed while it captures");
    invalidate(*stream.capture);
  }
  // Its work goes on: cuStreamDestroy() says that resources are released once it is completed.
  stream.destroyed = true;
  if (stream.worker.joinable()) {
    stream.worker.detach();
  }
  const auto at = streams.find(&stream);
  destroyed.insert(&stream);
  old_streams.push_back(std::move(at->second));
  streams.erase(at);
  changed.notify_all();
}

int Machine::enqueue(Stream& stream, Operation operation) {
  if (stream.capture != nullptr) {
    Capture& capture = *stream.capture;
    if (!capture.valid) {
      return kCaptureInvalidated;
    }
    auto node = std::make_unique<Node>();
    node->operation = std::move(operation);
    node->before.assign(stream.tails.begin(), stream.tails.end());
    capture.graph->nodes.push_back(std::move(node));
    stream.tails = {capture.graph->nodes.size() - 1};
    return kSuccess;
  }
  if (&stream == legacy) {
    // CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: "a disallowed implicit dependency on a current capture
    // sequence from cudaStreamLegacy". Streams that do not block have none.
    for (const auto& [handle, other] : streams) {
      if (other->capture != nullptr && (other->flags & kNonBlocking) == 0) {
        invalidate(*other->capture);
        return kCaptureImplicit;
      }
    }
  }
  Queued queued;
  queued.operation = std::move(operation);
  push(stream, std::move(queued));
  return kSuccess;
}

void Machine::push(Stream& stream, Queued queued) {
  if (queued.operation.kind == WorkKind::kKernel) {
    host_clock_ += cost[kEagerLaunch];
  }
  queued.issued = host_clock_;
  queued.time.join(host_);
  queued.time.join(stream.time);
  // "Stream synchronization behavior": the legacy stream and the blocking ones wait for each other.
  const auto wait_for = [&](const Stream& other) {
    if (&other != &stream && other.last != nullptr) {
      queued.waits.push_back(other.last);
      queued.time.join(other.time);
    }
  };
  if (&stream == legacy) {
    for (const auto& [handle, other] : streams) {
      if ((other->flags & kNonBlocking) == 0) {
        wait_for(*other);
      }
    }
  } else if ((stream.flags & kNonBlocking) == 0 && legacy != nullptr) {
    wait_for(*legacy);
  }
  queued.epoch = {stream.lane, ++stream.count};
  queued.time.join(queued.epoch);
  if (queued.mark == nullptr) {
    queued.mark = std::make_shared<Mark>();
  }
  queued.mark->time.join(queued.time);
  stream.time.join(queued.mark->time);
  stream.last = queued.mark;
  if (queued.operation.host != nullptr) {
    host_memory.guard(queued.operation.host, queued.epoch, queued.operation.writes_host);
  }
  stream.queue.push_back(std::move(queued));
  pending_ += 1;
  if (!stream.worker.joinable()) {
    stream.worker = std::thread([this, &stream] { serve(stream); });
  }
  changed.notify_all();
}

void Machine::serve(Stream& stream) {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] {
      return stream.queue.empty()
                 ? stream.destroyed
                 : lost != 0 || std::all_of(stream.queue.front().waits.begin(),
                                            stream.queue.front().waits.end(),
                                            [](const auto& mark) { return mark->done; });
    });
    if (stream.queue.empty()) {
      return;
    }
    Queued queued = std::move(stream.queue.front());
    stream.queue.pop_front();
    if (lost == 0) {
      execute(lock, stream, queued);
    }
    queued.mark->done = true;
    for (const auto& [node, mark] : queued.recorded) {
      mark->done = true;
    }
    pending_ -= 1;
    changed.notify_all();
  }
}

void Machine::execute(std::unique_lock<std::mutex>& lock, Stream& stream, Queued& queued) {
  std::uint64_t clock = std::max(stream.clock, queued.issued);
  for (const auto& mark : queued.waits) {
    clock = std::max(clock, mark->clock);
  }
  queued.mark->clock = clock;
  if (longest_delay > 0 && random() % kDelayedOneIn == 0) {
    const auto delay = std::chrono::microseconds(random() % longest_delay);
    lock.unlock();
    std::this_thread::sleep_for(delay);
    lock.lock();
  }
  if (queued.program != nullptr) {
    run_program(lock, queued);
  } else {
    run_one(lock, queued.operation, queued.epoch, queued.time);
    queued.mark->clock += cost.at(static_cast<std::size_t>(queued.operation.kind));
  }
  stream.clock = queued.mark->clock;
}

int Machine::run_one(std::unique_lock<std::mutex>& lock,
                     const Operation& operation,
                     Epoch epoch,
                     const VectorTime& time) {
  if (operation.kind == WorkKind::kKernel) {
    kernels += 1;
    for (const Fault& fault : faults) {
      if (fault.call == "kernel" && fault.at == kernels) {
        lose(fault.status);
        return fault.status;
      }
    }
  }
  if (!operation.run) {
    return kSuccess;
  }
  lock.unlock();
  AccessLog log;
  const int status = operation.run(log);
  memory.commit(log, operation.name, epoch, time);
  lock.lock();
  if (status == kIllegalAddress) {
    findings.add("illegal-access",
                 "'" + operation.name + "' uses memory that is not allocated, or no longer is");
  }
  if (status != kSuccess) {
    lose(status);
  }
  return status;
}

/// Executes a graph's nodes in an order of its edges that is drawn anew at each launch.
void Machine::run_program(std::unique_lock<std::mutex>& lock, Queued& queued) {
  const Program& program = *queued.program;
  const std::size_t count = program.nodes.size();
  std::vector<std::vector<std::size_t>> behind(count);
  std::vector<std::size_t> open(count);
  std::vector<VectorTime> times(count);
  std::vector<std::uint64_t> clocks(count, queued.mark->clock + cost[4]);
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < count; ++i) {
    open[i] = program.nodes[i].before.size();
    for (const std::size_t before : program.nodes[i].before) {
      behind[before].push_back(i);
    }
    if (open[i] == 0) {
      times[i] = queued.time;
      ready.push_back(i);
    }
  }
  queued.mark->clock += cost[4];
  while (!ready.empty() && lost == 0) {
    if (ready.size() > 1 && random() % kPermilleOfOrder == 0) {
      std::swap(ready[random() % ready.size()], ready.back());
    }
    const std::size_t node = ready.back();
    ready.pop_back();
    const Operation& operation = program.nodes[node].operation;
    const std::size_t chain = program.chain[node];
    const Epoch epoch{queued.lanes[chain], queued.bases[chain] + program.place[node]};
    times[node].join(epoch);
    run_one(lock, operation, epoch, times[node]);
    clocks[node] += cost.at(static_cast<std::size_t>(operation.kind));
    queued.mark->clock = std::max(queued.mark->clock, clocks[node]);
    if (operation.event != nullptr) {
      queued.recorded.at(node)->clock = clocks[node];
    }
    for (const std::size_t next : behind[node]) {
      if (behind[node].size() == 1 && program.nodes[next].before.size() == 1) {
        times[next] = std::move(times[node]);
      } else {
        times[next].join(times[node]);
      }
      clocks[next] = std::max(clocks[next], clocks[node]);
      if (--open[next] == 0) {
        ready.push_back(next);
      }
    }
  }
}

void Machine::host_reached(const VectorTime& time) {
  host_.join(time);
  host_memory.settle(host_);
  if (pending_ == 0) {
    memory.forget(host_);
  }
}

void Machine::wait(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Mark>& mark) {
  if (mark != nullptr) {
    changed.wait(lock, [&] { return mark->done; });
    host_clock_ = std::max(host_clock_, mark->clock);
    host_reached(mark->time);
  }
}

int Machine::synchronize(std::unique_lock<std::mutex>& lock, Stream& stream) {
  if (stream.capture != nullptr) {
    // cuStreamBeginCapture(): work is captured, not executed, so that there is nothing to wait for.
    invalidate(*stream.capture);
    return kCaptureUnsupported;
  }
  wait(lock, stream.last);
  return lost != 0 ? lost : std::exchange(injected, 0);
}

int Machine::synchronize_all(std::unique_lock<std::mutex>& lock) {
  for (const auto& [handle, stream] : streams) {
    if (stream->capture != nullptr) {
      invalidate(*stream->capture);
      return kCaptureUnsupported;
    }
  }
  std::vector<std::shared_ptr<Mark>> marks;
  for (const auto& [handle, stream] : streams) {
    marks.push_back(stream->last);
  }
  for (const auto& stream : old_streams) {
    marks.push_back(stream->last);
  }
  for (const auto& mark : marks) {
    wait(lock, mark);
  }
  return lost != 0 ? lost : std::exchange(injected, 0);
}

Event* Machine::event_of(void* handle) {
  const auto at = events.find(handle);
  if (at == events.end()) {
    found_dead_handle("event", handle);
    return nullptr;
  }
  return at->second.get();
}

int Machine::record(Event& event, Stream& stream) {
  if (stream.capture != nullptr) {
    if (!stream.capture->valid) {
      return kCaptureInvalidated;
    }
    event.mark = nullptr;
    event.capture = stream.capture;
    event.tails = stream.tails;
    return kSuccess;
  }
  event.capture = nullptr;
  if (const int status = enqueue(stream, {WorkKind::kEvent, "an event", nullptr, nullptr});
      status != kSuccess) {
    return status;
  }
  event.mark = stream.last;
  return kSuccess;
}

int Machine::record_in_graph(Event& event, Stream& stream) {
  if (stream.capture == nullptr) {
    return kInvalidValue;  // "This flag is invalid when used outside of capture"
  }
  Operation operation{WorkKind::kEvent, "an event in a graph", nullptr, nullptr};
  operation.event = &event;
  return enqueue(stream, std::move(operation));
}

int Machine::stream_wait(Stream& stream, Event& event) {
  if (event.capture != nullptr && event.capture->ended) {
    return kCapturedEvent;
  }
  if (stream.capture != nullptr && event.capture != nullptr) {
    if (stream.capture != event.capture) {
      invalidate(*stream.capture);
      invalidate(*event.capture);
      return kCaptureMerge;
    }
    stream.tails.insert(event.tails.begin(), event.tails.end());
    return stream.capture->valid ? kSuccess : kCaptureInvalidated;
  }
  if (stream.capture != nullptr) {
    if (event.mark == nullptr) {
      return kSuccess;  // "an event represents an empty set of work" before it is recorded
    }
    invalidate(*stream.capture);
    return kCaptureIsolation;
  }
  if (event.capture != nullptr) {
    if (&stream == legacy) {
      invalidate(*event.capture);
      return kCaptureImplicit;
    }
    stream.capture = event.capture;
    stream.tails = event.tails;
    event.capture->streams.insert(&stream);
    return event.capture->valid ? kSuccess : kCaptureInvalidated;
  }
  if (event.mark != nullptr) {
    Queued queued;
    queued.operation = {WorkKind::kEvent, "a wait", nullptr, nullptr};
    queued.waits.push_back(event.mark);
    queued.time.join(event.mark->time);
    push(stream, std::move(queued));
  }
  return kSuccess;
}

}  // namespace plumb::stand_in
