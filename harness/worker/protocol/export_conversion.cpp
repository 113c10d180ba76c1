// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "harness/worker/protocol/export_request.hpp"
#include "harness/worker/protocol/message_field.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"

namespace plumb::worker {
namespace {

constexpr std::size_t kMaxFunctionBytes = 1000;
constexpr std::size_t kDigestDigits = 64;

}  // namespace

protocol::ModelCode to_protocol(const results::ModelCode& code) {
  protocol::ModelCode message;
  message.set_file(code.file.string());
  message.set_function(code.function);
  message.set_sha256(code.sha256);
  return message;
}

results::ModelCode from_protocol(const protocol::ModelCode& message) {
  results::ModelCode code{message.file(), message.function(), message.sha256()};
  if (!code.file.is_absolute()) {
    fail_field("file", "not an absolute path");
  }
  require_field("function", !code.function.empty());
  check_size("function", code.function.size(), kMaxFunctionBytes);
  if (code.sha256.size() != kDigestDigits ||
      !std::all_of(code.sha256.begin(), code.sha256.end(), [](unsigned char digit) {
        return std::isxdigit(digit) != 0;
      })) {
    fail_field("sha256", "not a digest of 64 hex digits");
  }
  return code;
}

protocol::ExportRequest to_protocol(const ExportRequest& request) {
  protocol::ExportRequest message;
  *message.mutable_code() = to_protocol(request.code);
  message.set_path(request.path.string());
  message.set_seed(request.seed);
  return message;
}

ExportRequest from_protocol(const protocol::ExportRequest& message) {
  ExportRequest request{from_protocol(message.code()), message.path(), message.seed()};
  if (!request.path.is_absolute()) {
    fail_field("path", "not an absolute path");
  }
  return request;
}

}  // namespace plumb::worker
