// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runners/onnxruntime/api_table.hpp"
#include "runners/onnxruntime/session_log.hpp"

namespace plumb::onnxruntime {

/// ONNX Runtime, loaded by path, and its environment with the threads that all sessions share.
class Library {
 public:
  /// Loads the libraries in order. One of them has to be ONNX Runtime 1.15 or later. Throws
  /// Error{kEnvironment}, saying how to get it. The runtime has one environment a process, with the
  /// logs of the first Library: no later one may outlive that.
  Library(const std::vector<std::filesystem::path>& files, int threads);

  /// Returns a function of the table.
  template <typename Function>
  [[nodiscard]] typename Function::Function find() const {
    return reinterpret_cast<typename Function::Function>(table_[Function::kPosition]);
  }
  /// Calls a function of the table. Throws Error{kEnvironment} with the library's message.
  template <typename Function, typename... Arguments>
  void call(Arguments... arguments) const {
    check(find<Function>()(arguments...));
  }
  /// Makes a handle by a function of the table, which writes it to its last argument.
  template <typename Create, typename ReleaseFunction, typename Handle, typename... Arguments>
  [[nodiscard]] Owned<Handle> make(Arguments... arguments) const {
    Handle* handle = nullptr;
    call<Create>(arguments..., &handle);
    return Owned<Handle>(handle, {find<ReleaseFunction>()});
  }
  /// Throws Error{kEnvironment} with the library's message if a status is not null, and releases
  /// it.
  void check(OrtStatus* status) const;

  [[nodiscard]] const OrtEnv* environment() const { return environment_.get(); }
  [[nodiscard]] OrtAllocator* allocator() const { return allocator_; }  ///< the library's
  [[nodiscard]] SessionLogs& logs() const { return *logs_; }
  [[nodiscard]] const std::string& version() const { return version_; }
  /// Lists the execution providers that the library was built with.
  [[nodiscard]] std::vector<std::string> providers() const;
  /// Returns an address inside the library.
  [[nodiscard]] const void* address() const { return table_[0]; }

 private:
  const void* const* table_ = nullptr;
  std::string version_;
  std::unique_ptr<SessionLogs> logs_ = std::make_unique<SessionLogs>();  // outlive the environment
  Owned<OrtEnv> environment_;
  OrtAllocator* allocator_ = nullptr;
};

}  // namespace plumb::onnxruntime
