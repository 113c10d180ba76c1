// SPDX-License-Identifier: Apache-2.0
#include "runners/onnxruntime/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"

namespace plumb::onnxruntime {
namespace {

/// What OrtGetApiBase() returns.
struct ApiBase {
  const void* (*get_api)(std::uint32_t version);
  const char* (*version)();
};

constexpr std::size_t kMaxLines = 20;
constexpr std::size_t kMaxLine = 300;  // bytes

}  // namespace

std::string Library::Logs::start() {
  const std::scoped_lock lock(mutex_);
  std::string id = fmt::format("plumb-{}", started_++);
  logs_[id] = {};
  return id;
}

void Library::Logs::add(const std::string& id, std::string message) {
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

std::string Library::Logs::text(const std::string& id) const {
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

void Library::Logs::end(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  logs_.erase(id);
}

void Library::Logs::receive(void* logs,
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
    static_cast<Library::Logs*>(logs)->add(
        id, fmt::format("{}: {}", kind, std::string_view(message).substr(0, kMaxLine)));
    fmt::print(stderr, "ONNX Runtime: {}: {} ({})\n", kind, message, location);
  } catch (const std::exception&) {
    // The caller is a C library, which no exception may reach. The message is lost, nothing else.
  }
}

namespace {

constexpr const char* kHowToGet =
    "write a stack with `libraries = [\".../libonnxruntime.so.1.x\"]`, or let `plumb stacks fetch "
    "onnxruntime==VERSION` make one";

[[noreturn]] void fail(const std::string& what) {
  throw Error(Error::Kind::kEnvironment, fmt::format("{}: {}", what, kHowToGet));
}

}  // namespace

Library::Library(const std::vector<std::filesystem::path>& files, int threads) {
  if (files.empty()) {
    fail("the stack names no library of ONNX Runtime");
  }
  using GetApiBase = const ApiBase* (*)();
  GetApiBase get_base = nullptr;
  for (const std::filesystem::path& file : files) {
    void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* const reason = dlerror();
      fail(fmt::format("the library '{}' cannot be loaded ({})",
                       file.string(),
                       reason != nullptr ? reason : "unknown reason"));
    }
    if (void* const symbol = dlsym(handle, "OrtGetApiBase")) {
      get_base = reinterpret_cast<GetApiBase>(symbol);
    }
  }
  if (get_base == nullptr) {
    fail("none of the stack's libraries is ONNX Runtime (no symbol OrtGetApiBase)");
  }
  version_ = get_base()->version();
  table_ = static_cast<const void* const*>(get_base()->get_api(kApiVersion));
  if (table_ == nullptr) {
    fail(fmt::format("ONNX Runtime {} is older than 1.{}, the first that this worker can use",
                     version_,
                     kApiVersion));
  }
  const auto options =
      make<api::CreateThreadingOptions, api::ReleaseThreadingOptions, OrtThreadingOptions>();
  call<api::SetGlobalIntraOpNumThreads>(options.get(), threads);
  call<api::SetGlobalInterOpNumThreads>(options.get(), threads);
  environment_ = make<api::CreateEnvWithCustomLoggerAndGlobalThreadPools, api::ReleaseEnv, OrtEnv>(
      &Library::Logs::receive, logs_.get(), api::kLogWarnings, "plumb", options.get());
  call<api::GetAllocatorWithDefaultOptions>(&allocator_);
}

void Library::check(OrtStatus* status) const {
  if (status == nullptr) {
    return;
  }
  const std::string message = find<api::GetErrorMessage>()(status);
  find<api::ReleaseStatus>()(status);
  throw Error(Error::Kind::kEnvironment, "ONNX Runtime: " + message);
}

std::vector<std::string> Library::providers() const {
  char** names = nullptr;
  int count = 0;
  call<api::GetAvailableProviders>(&names, &count);
  std::vector<std::string> result(names, names + count);
  call<api::ReleaseAvailableProviders>(names, count);
  return result;
}

}  // namespace plumb::onnxruntime
