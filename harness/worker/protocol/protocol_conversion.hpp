// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/worker/protocol/worker_service.hpp"

namespace plumb::protocol {

class Content;

}  // namespace plumb::protocol

namespace plumb::worker {

/// Version of the protocol, raised whenever a message changes its meaning. Both sides must have the
/// same.
inline constexpr std::uint32_t kProtocolVersion = 12;

/// Limits of the lists in one message.
inline constexpr std::size_t kMaxSentSamples = 1'000'000;
inline constexpr std::size_t kMaximumVariants = 10'000;

/// Writes a value as the content of a message: the JSON of its described fields, and attachments.
/// Bytes of texts that are not UTF-8 are replaced, but not those of paths. For what `plumb` asks
/// (request_fields.cpp) and what workers answer (reply_fields.cpp).
template <typename Value>
[[nodiscard]] protocol::Content to_protocol(const Value& value);

/// Reads what to_protocol() wrote. A message comes from outside, so each field is checked by the
/// limits of its description. Throws FrameChannel::ProtocolError{kBroken} naming the field at
/// fault.
template <typename Value>
[[nodiscard]] Value from_protocol(const protocol::Content& content);

}  // namespace plumb::worker
