// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol/message_field.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/reproducer.hpp"

namespace plumb::worker {

protocol::TraceRequest to_protocol(const TraceRequest& request) {
  protocol::TraceRequest message;
  *message.mutable_model() = to_protocol(request.model);
  message.set_folder(request.folder.string());
  message.set_executions(request.executions);
  return message;
}

TraceRequest from_protocol(const protocol::TraceRequest& message) {
  TraceRequest request;
  request.model = from_protocol(message.model());
  if (request.model.modes.size() != 1) {
    fail_field("modes", "not one mode: a trace is of one");
  }
  request.folder = message.folder();
  if (!request.folder.is_absolute()) {
    fail_field("folder", "not an absolute path");
  }
  request.executions = bounded<std::uint64_t>(
      "executions", message.has_executions() ? message.executions() : 1, 1, kMaxTracedExecutions);
  return request;
}

protocol::Trace to_protocol(const Trace& trace) {
  protocol::Trace message;
  for (const TraceFile& file : trace.files) {
    protocol::Trace::File& one = *message.add_files();
    one.set_format(file.format);
    one.set_name(file.name);
  }
  if (trace.untraced) {
    message.set_untraced_seconds(trace.untraced->count());
  }
  return message;
}

Trace from_protocol(const protocol::Trace& message) {
  Trace trace;
  check_size("files", static_cast<std::size_t>(message.files_size()), kMaxTraceFiles);
  for (const protocol::Trace::File& file : message.files()) {
    check_size("format", file.format().size(), kMaxTraceFormatBytes);
    if (!is_plain_file_name(file.name())) {
      fail_field("name", "not the name of a file in the trace's folder");
    }
    trace.files.push_back({file.format(), file.name()});
  }
  if (message.has_untraced_seconds()) {
    trace.untraced = read_time("untraced_seconds", message.untraced_seconds());
  }
  return trace;
}

}  // namespace plumb::worker
