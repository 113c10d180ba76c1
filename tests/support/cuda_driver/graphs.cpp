// SPDX-License-Identifier: Apache-2.0
// Captures, and the graphs that they make.
#include <algorithm>

#include "tests/support/cuda_driver/kernel_module.hpp"
#include "tests/support/cuda_driver/machine.hpp"

namespace plumb::stand_in {
namespace {

constexpr int kRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
constexpr int kIllegalState = 401;

/// Returns whether all works of `tails` come before those of `joined`, or are among them.
bool reaches(const Graph& graph,
             const std::set<std::size_t>& joined,
             const std::set<std::size_t>& tails) {
  std::vector<bool> seen(graph.nodes.size(), false);
  std::vector<std::size_t> open(joined.begin(), joined.end());
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (!seen[node]) {
      seen[node] = true;
      open.insert(open.end(), graph.nodes[node]->before.begin(), graph.nodes[node]->before.end());
    }
  }
  return std::all_of(tails.begin(), tails.end(), [&](std::size_t tail) { return seen[tail]; });
}

}  // namespace

void Machine::invalidate(Capture& capture) {
  capture.valid = false;
}

int Machine::forbidden_while_capturing() {
  int status = kSuccess;
  for (const auto& [handle, stream] : streams) {
    if (stream->capture != nullptr && stream->capture->mode != kRelaxed &&
        (stream->capture->mode == 0 || stream->capture->thread == std::this_thread::get_id())) {
      invalidate(*stream->capture);
      status = kCaptureUnsupported;
    }
  }
  return status;
}

int Machine::begin_capture(Stream& stream, int mode) {
  if (&stream == legacy) {
    return kCaptureUnsupported;  // "Capture may not be initiated if stream is CU_STREAM_LEGACY"
  }
  if (stream.capture != nullptr) {
    return kIllegalState;  // "only be initiated if the stream is not already in capture mode"
  }
  stream.capture = std::make_shared<Capture>();
  stream.capture->origin = &stream;
  stream.capture->mode = mode;
  stream.capture->thread = std::this_thread::get_id();
  stream.capture->streams.insert(&stream);
  stream.tails.clear();
  return kSuccess;
}

int Machine::end_capture(Stream& stream, Graph** graph) {
  *graph = nullptr;
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr) {
    return kIllegalState;
  }
  if (capture->origin != &stream) {
    invalidate(*capture);
    return kCaptureUnmatched;  // "Capture must be ended on the same stream"
  }
  if (capture->mode != kRelaxed && capture->thread != std::this_thread::get_id()) {
    return kCaptureWrongThread;
  }
  bool joined = true;
  for (const Stream* const other : capture->streams) {
    joined = joined && reaches(*capture->graph, stream.tails, other->tails);
  }
  capture->ended = true;
  for (Stream* const other : capture->streams) {
    other->capture = nullptr;
    other->tails.clear();
  }
  if (!capture->valid) {
    return kCaptureInvalidated;
  }
  if (!joined) {
    return kCaptureUnjoined;  // "a fork that was not joined to the primary stream"
  }
  Graph* const made = capture->graph.get();
  graphs.emplace(made, std::move(capture->graph));
  *graph = made;
  return kSuccess;
}

std::shared_ptr<const Program> Machine::program_of(const Graph& graph) {
  auto program = std::make_shared<Program>();
  std::vector<bool> continued(graph.nodes.size(), false);
  for (const auto& node : graph.nodes) {
    program->nodes.push_back(*node);
    std::optional<std::size_t> chain;
    for (const std::size_t before : node->before) {
      if (!continued[before]) {
        continued[before] = true;
        chain = program->chain[before];
        break;
      }
    }
    if (!chain) {
      chain = program->lengths.size();
      program->lengths.push_back(0);
    }
    program->chain.push_back(*chain);
    program->place.push_back(++program->lengths[*chain]);
  }
  return program;
}

int Machine::launch(Executable& executable, Stream& stream) {
  if (stream.capture != nullptr) {
    findings.add("stand-in", "a graph is launched into a capture, which is not modelled here");
    invalidate(*stream.capture);
    return kCaptureUnsupported;
  }
  const Program& program = *executable.program;
  while (executable.lanes.size() < program.lengths.size()) {
    executable.lanes.push_back(new_lane());
    executable.counts.push_back(0);
  }
  Queued queued;
  queued.operation.kind = WorkKind::kGraph;
  queued.operation.name = "a graph";
  queued.program = executable.program;
  queued.lanes = executable.lanes;
  queued.bases = executable.counts;
  queued.mark = std::make_shared<Mark>();
  for (std::size_t chain = 0; chain < program.lengths.size(); ++chain) {
    executable.counts[chain] += program.lengths[chain];
    queued.mark->time.join(Epoch{executable.lanes[chain], executable.counts[chain]});
  }
  // "Each launch is ordered behind both any previous work in hStream and any previous launches".
  if (executable.last != nullptr) {
    queued.waits.push_back(executable.last);
    queued.time.join(executable.last->time);
  }
  executable.last = queued.mark;
  for (std::size_t index = 0; index < program.nodes.size(); ++index) {
    const Operation& operation = program.nodes[index].operation;
    const std::size_t chain = program.chain[index];
    const Epoch epoch{queued.lanes[chain], queued.bases[chain] + program.place[index]};
    if (operation.host != nullptr) {
      host_memory.guard(operation.host, epoch, operation.writes_host);
    }
    if (operation.event != nullptr) {
      if (event_of(operation.event) == nullptr) {
        return kInvalidValue;
      }
      // Who waits for the event alone knows of no other work of the graph: stricter than the GPU.
      const auto mark = std::make_shared<Mark>();
      mark->time.join(epoch);
      operation.event->capture = nullptr;
      operation.event->mark = mark;
      queued.recorded.emplace(index, mark);
    }
  }
  push(stream, std::move(queued));
  return kSuccess;
}

}  // namespace plumb::stand_in
