// SPDX-License-Identifier: Apache-2.0
#include "runners/onnxruntime/session_log.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>
#include <utility>

#include "harness/base/utf8_text.hpp"
#include "runners/onnxruntime/api_table.hpp"

namespace plumb::onnxruntime {
namespace {

constexpr std::size_t kMaxLines = 20;
constexpr std::size_t kMaxLine = 300;  // bytes

}  // namespace

std::string SessionLogs::start() {
  const std::scoped_lock lock(mutex_);
  std::string id = fmt::format("plumb-{}", started_++);
  logs_[id] = {};
  return id;
}

void SessionLogs::add(const std::string& id, std::string message) {
  message.resize(std::min(message.size(), kMaxLine));
  std::replace(message.begin(), message.end(), '\n', ' ');
  const std::scoped_lock lock(mutex_);
  const auto found = logs_.find(id);
  if (found == logs_.end()) {
    return;
  }
  Log& log = found->second;
  if (log.lines.size() < kMaxLines) {
    log.lines.push_back(in_utf8(std::move(message)));
  } else {
    ++log.left_out;
  }
}

std::string SessionLogs::text(const std::string& id) const {
  const std::scoped_lock lock(mutex_);
  const auto found = logs_.find(id);
  if (found == logs_.end()) {
    return {};
  }
  const Log& log = found->second;
  std::string text = fmt::format("{}", fmt::join(log.lines, "\n"));
  if (log.left_out > 0) {
    text += fmt::format("\nand {} more", log.left_out);
  }
  return text;
}

void SessionLogs::end(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  logs_.erase(id);
}

void SessionLogs::receive(void* logs,
                          int severity,
                          const char* category,
                          const char* id,
                          const char* location,
                          const char* message) noexcept {
  static_cast<void>(category);
  if (severity < api::kLogWarnings) {
    return;
  }
  const char* const kind = severity > api::kLogWarnings ? "error" : "warning";
  try {
    static_cast<SessionLogs*>(logs)->add(
        id, fmt::format("{}: {}", kind, std::string_view(message).substr(0, kMaxLine)));
    fmt::print(stderr, "ONNX Runtime: {}: {} ({})\n", kind, message, location);
  } catch (const std::exception&) {
    // The caller is a C library, which no exception may reach. The message is lost, nothing else.
  }
}

}  // namespace plumb::onnxruntime
