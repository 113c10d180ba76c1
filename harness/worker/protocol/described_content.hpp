// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <string_view>

#include "harness/base/error.hpp"
#include "harness/results/json_fields.hpp"
#include "harness/results/results_json.hpp"
#include "harness/worker/protocol/frame_channel.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"

/// Conversion of any described value to the content of a message and back. For .cpp files that
/// describe values, as json_object.hpp.
namespace plumb::worker {

/// Writes a value that results know how to write, or one that is described here.
template <typename Value>
std::string value_text(const Value& value) {
  if constexpr (requires { results::to_json(value); }) {
    return results::to_json(value);
  } else {
    return results::described_text(value);
  }
}

inline void read_value(std::string_view text, results::Measurement& value) {
  value = results::measurement_from_json(text);
}
inline void read_value(std::string_view text, results::Execution& value) {
  value = results::execution_from_json(text);
}
inline void read_value(std::string_view text, results::ScenarioResult& value) {
  value = results::scenario_result_from_json(text);
}
inline void read_value(std::string_view text, results::Environment& value) {
  value = results::environment_from_json(text);
}
inline void read_value(std::string_view text, results::Calibration& value) {
  value = results::calibration_from_json(text);
}
inline void read_value(std::string_view text, results::EngineChoices& value) {
  value = results::engine_choices_from_json(text);
}
template <typename Value>
void read_value(std::string_view text, Value& value) {
  value = results::value_from_text<Value>(text);
}

/// Returns the part of a value that is text: all of it, but for the many times of a row.
template <typename Value>
const Value& text_part(const Value& value) {
  return value;
}
results::Measurement text_part(results::Measurement row);
results::Execution text_part(results::Execution execution);

/// Adds the attachments of a value, or takes them from a message. Values without have no overload.
void attach(const results::Measurement& row, protocol::Content& content);
void detach(const protocol::Content& content, results::Measurement& row);
void attach(const results::Execution& execution, protocol::Content& content);
void detach(const protocol::Content& content, results::Execution& execution);

template <typename Value>
protocol::Content to_protocol(const Value& value) {
  protocol::Content content;
  content.set_value(value_text(text_part(value)));
  if constexpr (requires { attach(value, content); }) {
    attach(value, content);
  }
  return content;
}

template <typename Value>
Value from_protocol(const protocol::Content& content) {
  try {
    Value value;
    read_value(content.value(), value);
    if constexpr (requires { detach(content, value); }) {
      detach(content, value);
    }
    return value;
  } catch (const Error& error) {
    throw FrameChannel::ProtocolError(FrameChannel::ProtocolError::Kind::kBroken,
                                      fmt::format("a message has a wrong value: {}", error.what()));
  }
}

}  // namespace plumb::worker
