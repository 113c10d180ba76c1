// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol/message_field.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"

namespace plumb::worker {

protocol::AlternateRequest to_protocol(const AlternateRequest& request) {
  protocol::AlternateRequest message;
  for (const ExecuteRequest& shape : request.shapes) {
    *message.add_shapes() = to_protocol(shape);
  }
  message.mutable_order()->Assign(request.order.begin(), request.order.end());
  return message;
}

AlternateRequest from_protocol(const protocol::AlternateRequest& message) {
  AlternateRequest request;
  const auto shapes = static_cast<std::size_t>(message.shapes_size());
  check_size("shapes", shapes, kMaxAlternatedShapes);
  check_size("order", static_cast<std::size_t>(message.order_size()), kMaxAlternatedExecutions);
  for (const protocol::ExecuteRequest& shape : message.shapes()) {
    request.shapes.push_back(from_protocol(shape));
    const std::vector<ModeRequest>& modes = request.shapes.back().modes;
    if (modes.size() != 1 || modes.front().mode != request.shapes.front().modes.front().mode) {
      fail_field("modes", "not the same one mode of all shapes");
    }
  }
  for (const std::uint32_t shape : message.order()) {
    if (shape >= shapes) {
      fail_field("order", "not an index of the shapes");
    }
    request.order.push_back(shape);
  }
  return request;
}

protocol::Alternation to_protocol(const Alternation& alternation) {
  protocol::Alternation message;
  message.set_one_program(alternation.one_program);
  message.set_preparation_seconds(alternation.preparation.count());
  for (const Seconds seconds : alternation.seconds) {
    message.add_seconds(seconds.count());
  }
  return message;
}

Alternation from_protocol(const protocol::Alternation& message) {
  Alternation alternation;
  alternation.one_program = message.one_program();
  alternation.preparation = read_time("preparation_seconds", message.preparation_seconds());
  check_size("seconds", static_cast<std::size_t>(message.seconds_size()), kMaxAlternatedExecutions);
  for (const double seconds : message.seconds()) {
    alternation.seconds.push_back(read_time("seconds", seconds));
  }
  return alternation;
}

}  // namespace plumb::worker
