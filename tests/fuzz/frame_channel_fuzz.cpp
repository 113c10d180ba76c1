// SPDX-License-Identifier: Apache-2.0
//
// Feeds any bytes to the harness's side of a worker's channel: frames, then replies and requests,
// then values. What is taken for a value must survive being sent again.
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "harness/worker/protocol/frame_channel.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/protocol_error.hpp"

namespace plumb::worker {
namespace {

/// Converts a message, and the value that came of it there and back again.
template <typename Message>
void convert(const Message& message) {
  const auto value = [&] {
    try {
      return std::optional(from_protocol(message));
    } catch (const ProtocolError&) {
      return decltype(std::optional(from_protocol(message)))();
    }
  }();
  if (!value) {
    return;
  }
  const Message again = to_protocol(*value);
  Message received;
  if (!received.ParseFromString(again.SerializeAsString())) {
    std::abort();
  }
  // Throws, and so ends the run, if what was taken once is refused now.
  (void)from_protocol(received);
}

void convert_frame(const std::string& frame) {
  if (protocol::Reply reply; reply.ParseFromString(frame)) {
    convert(reply.row());
    convert(reply.environment());
    convert(reply.variants());
    convert(reply.calibration());
    convert(reply.error());
  }
  if (protocol::Request request; request.ParseFromString(frame)) {
    convert(request.measure());
    convert(request.variants());
  }
}

void receive_all(std::string_view bytes) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    std::abort();
  }
  FrameChannel channel{FileDescriptor(ends[0])};
  FileDescriptor writer(ends[1]);
  (void)::send(writer.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  writer.reset();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  try {
    while (const auto frame = channel.receive(deadline)) {
      convert_frame(*frame);
    }
  } catch (const ProtocolError& error) {
    if (error.kind() == ProtocolError::Kind::kTimedOut) {
      std::abort();
    }
  }
}

}  // namespace
}  // namespace plumb::worker

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // protobuf reports unreadable text on stderr, which would drown the fuzzer's own words.
  static google::protobuf::LogSilencer silencer;
  const std::string bytes(data, data + size);
  // Most random bytes are no frame: look at them as the content of one, too.
  plumb::worker::convert_frame(bytes);
  plumb::worker::receive_all(bytes);
  return 0;
}
