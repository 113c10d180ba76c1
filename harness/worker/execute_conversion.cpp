// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "harness/worker/protocol.pb.h"
#include "harness/worker/protocol_conversion.hpp"
#include "harness/worker/protocol_error.hpp"

namespace plumb {
namespace {

constexpr int kMaximumDims = 1000;
constexpr std::int64_t kMaximumAttempts = 1000;

std::int64_t not_negative(const char* field, std::int64_t value) {
  if (value < 0) {
    throw ProtocolError(ProtocolError::Kind::kBroken,
                        fmt::format("field '{}' of a message is {}, below 0", field, value));
  }
  return value;
}

}  // namespace

protocol::ExecuteRequest to_protocol(const ExecuteRequest& request) {
  protocol::ExecuteRequest message;
  message.set_name(request.name);
  message.set_model(request.model);
  message.set_path(request.path.string());
  if (request.batch) {
    message.set_batch(*request.batch);
  }
  message.mutable_dims()->insert(request.dims.begin(), request.dims.end());
  message.set_mode(request.mode);
  *message.mutable_sampling() = to_protocol(request.sampling);
  message.set_seed(request.seed);
  message.set_disturbed_attempts(request.disturbed_attempts);
  return message;
}

ExecuteRequest from_protocol(const protocol::ExecuteRequest& message) {
  ExecuteRequest request;
  request.name = message.name();
  request.model = message.model();
  request.path = message.path();
  if (message.has_batch()) {
    request.batch = not_negative("batch", message.batch());
  }
  if (message.dims_size() > kMaximumDims) {
    throw ProtocolError(
        ProtocolError::Kind::kBroken,
        fmt::format("field 'dims' of a message is a list of {}, above the limit of {}",
                    message.dims_size(),
                    kMaximumDims));
  }
  for (const auto& [name, extent] : message.dims()) {
    request.dims[name] = not_negative("dims", extent);
  }
  request.mode = message.mode();
  request.sampling = from_protocol(message.sampling());
  request.seed = message.seed();
  request.disturbed_attempts =
      std::min(not_negative("disturbed_attempts", message.disturbed_attempts()), kMaximumAttempts);
  return request;
}

protocol::Execution to_protocol(const Execution& execution) {
  protocol::Execution message;
  message.set_mode(execution.mode);
  message.set_scenario(execution.scenario);
  *message.mutable_row() = to_protocol(execution.row);
  message.set_memory_bytes(execution.memory.value);
  message.set_reorders(execution.reorders);
  return message;
}

Execution from_protocol(const protocol::Execution& message) {
  Execution execution;
  execution.mode = message.mode();
  execution.scenario = message.scenario();
  execution.row = from_protocol(message.row());
  execution.memory.value = not_negative("memory_bytes", message.memory_bytes());
  execution.reorders = not_negative("reorders", message.reorders());
  return execution;
}

}  // namespace plumb
