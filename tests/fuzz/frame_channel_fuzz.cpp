// SPDX-License-Identifier: Apache-2.0
//
// Feeds any bytes to the harness's side of a worker's channel: frames, then replies and requests,
// then values. What is taken for a value must survive being sent again. An input is looked at as
// frames, as the content of one, and as the JSON of a value whose type its first byte chooses.
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "harness/worker/protocol/frame_channel.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/worker_service.hpp"

namespace plumb::worker {
namespace {

/// Converts content to a value, and that to content and back again.
template <typename Value>
void convert(const protocol::Content& content) {
  std::optional<Value> value;
  try {
    value = from_protocol<Value>(content);
  } catch (const FrameChannel::ProtocolError&) {
    return;
  }
  protocol::Content received;
  if (!received.ParseFromString(to_protocol(*value).SerializeAsString())) {
    std::abort();
  }
  // Throws, and so ends the run, if what was taken once is refused now.
  (void)from_protocol<Value>(received);
}

using Convert = void (*)(const protocol::Content&);

constexpr std::array kConversions{Convert(convert<results::Measurement>),
                                  Convert(convert<results::Environment>),
                                  Convert(convert<results::Calibration>),
                                  Convert(convert<results::Execution>),
                                  Convert(convert<results::ScenarioResult>),
                                  Convert(convert<results::EngineChoices>),
                                  Convert(convert<WorkerService::VariantList>),
                                  Convert(convert<ExecuteRequest::Progress>),
                                  Convert(convert<LoadRequest::Progress>),
                                  Convert(convert<Reproducer>),
                                  Convert(convert<Trace>),
                                  Convert(convert<Alternation>),
                                  Convert(convert<WorkerService::Exported>),
                                  Convert(convert<WorkerService::LongStep>),
                                  Convert(convert<WorkerService::ReportedError>),
                                  Convert(convert<Profile>),
                                  Convert(convert<WorkerService::Setup>),
                                  Convert(convert<WorkerService::VariantsRequest>),
                                  Convert(convert<WorkerService::MeasureRequest>),
                                  Convert(convert<ExecuteRequest>),
                                  Convert(convert<LoadRequest>),
                                  Convert(convert<WorkerService::PreviewRequest>),
                                  Convert(convert<Reproducer::Request>),
                                  Convert(convert<Trace::Request>),
                                  Convert(convert<Alternation::Request>),
                                  Convert(convert<Profile::Request>),
                                  Convert(convert<WorkerService::SamplesRequest>),
                                  Convert(convert<WorkerService::ExportRequest>)};

void convert_all(const protocol::Content& content) {
  for (const Convert conversion : kConversions) {
    conversion(content);
  }
}

void convert_frame(const std::string& frame) {
  if (protocol::Reply reply; reply.ParseFromString(frame) && reply.has_content()) {
    convert_all(reply.content());
  }
  if (protocol::Request request; request.ParseFromString(frame) && request.has_content()) {
    convert_all(request.content());
  }
}

/// Converts JSON after a letter, which chooses the type: 'A' is the first one. Attachments are as
/// many empty ones as the type needs.
void convert_value(std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  const auto letter = static_cast<unsigned char>(bytes.front());
  const Convert conversion =
      kConversions[(letter + kConversions.size() - 'A') % kConversions.size()];
  protocol::Content content;
  content.set_value(std::string(bytes.substr(1)));
  constexpr int kMostAttachments = 7;
  for (int i = 0; i <= kMostAttachments; ++i) {
    conversion(content);
    content.add_attachments("");
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
  } catch (const FrameChannel::ProtocolError& error) {
    if (error.kind() == FrameChannel::ProtocolError::Kind::kTimedOut) {
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
  plumb::worker::convert_value(bytes);
  plumb::worker::receive_all(bytes);
  return 0;
}
