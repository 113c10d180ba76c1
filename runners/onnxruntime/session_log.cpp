// SPDX-License-Identifier: Apache-2.0
#include "runners/onnxruntime/session_log.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
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
  std::replace(message.begin(), message.end(), '\n', ' ');
  message.resize(std::min(message.size(), kMaxLine));
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
                          const char* message) {
  static_cast<void>(category);
  if (severity < api::kLogWarnings) {
    return;
  }
  const std::string text =
      fmt::format("{}: {}", severity > api::kLogWarnings ? "error" : "warning", message);
  fmt::print(stderr, "ONNX Runtime: {} ({})\n", text, location);
  static_cast<SessionLogs*>(logs)->add(id, text);
}

}  // namespace plumb::onnxruntime
