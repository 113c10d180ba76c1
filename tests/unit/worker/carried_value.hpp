// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"

namespace plumb::worker {

/// Takes a value over the wire and back. `change` spoils its content on the way.
template <typename Value, typename Change>
Value carried(const Value& value, const Change& change) {
  protocol::Content content = to_protocol(value);
  change(content);
  protocol::Content received;
  EXPECT_TRUE(received.ParseFromString(content.SerializeAsString()));
  return from_protocol<Value>(received);
}

template <typename Value>
Value carried(const Value& value) {
  return carried(value, [](protocol::Content&) {});
}

/// Takes a value over the wire and back. `change` spoils its JSON on the way.
template <typename Value, typename Change>
Value spoilt(const Value& value, const Change& change) {
  return carried(value, [&](protocol::Content& content) {
    auto json = nlohmann::json::parse(content.value());
    change(json);
    content.set_value(json.dump());
  });
}

}  // namespace plumb::worker
