// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "harness/worker/protocol/message_field.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/protocol_error.hpp"

namespace plumb::worker {
namespace {

constexpr std::size_t kMaximumVariables = 64;
constexpr std::size_t kLongestName = 64;

}  // namespace

bool is_plain_file_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

protocol::ReproducerRequest to_protocol(const ReproducerRequest& request) {
  protocol::ReproducerRequest message;
  *message.mutable_key() = to_protocol(request.key);
  for (const results::Measurement& row : request.rows) {
    *message.add_rows() = to_protocol(row);
  }
  message.set_seed(request.seed);
  return message;
}

ReproducerRequest from_protocol(const protocol::ReproducerRequest& message) {
  ReproducerRequest request;
  request.key = from_protocol(message.key());
  check_size("rows", static_cast<std::size_t>(message.rows_size()), kMaximumReproducerRows);
  for (const protocol::Measurement& row : message.rows()) {
    request.rows.push_back(from_protocol(row));
  }
  request.seed = message.seed();
  return request;
}

protocol::Reproducer to_protocol(const Reproducer& reproducer) {
  protocol::Reproducer message;
  for (const Reproducer::File& file : reproducer.files) {
    protocol::Reproducer::File& one = *message.add_files();
    one.set_name(file.name);
    one.set_text(file.text);
  }
  message.set_instructions(reproducer.instructions);
  message.mutable_log_variables()->insert(reproducer.log_variables.begin(),
                                          reproducer.log_variables.end());
  message.set_log_prefix(reproducer.log_prefix);
  return message;
}

Reproducer from_protocol(const protocol::Reproducer& message) {
  Reproducer reproducer;
  check_size("files", static_cast<std::size_t>(message.files_size()), kMaximumReproducerFiles);
  for (const protocol::Reproducer::File& file : message.files()) {
    check_size("text", file.text().size(), kMaximumReproducerBytes);
    if (!is_plain_file_name(file.name())) {
      throw ProtocolError(ProtocolError::Kind::kBroken, "a file's name leaves its folder");
    }
    reproducer.files.push_back({file.name(), file.text()});
  }
  check_size("instructions", message.instructions().size(), kMaximumReproducerBytes);
  reproducer.instructions = message.instructions();
  check_size(
      "log_variables", static_cast<std::size_t>(message.log_variables_size()), kMaximumVariables);
  reproducer.log_variables.insert(message.log_variables().begin(), message.log_variables().end());
  reproducer.log_prefix = message.log_prefix();
  return reproducer;
}

}  // namespace plumb::worker
