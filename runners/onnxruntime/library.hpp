// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

// What this worker uses of ONNX Runtime's C API. The library hands out one table of functions.
// Later versions only append to it, so a function's position never changes.

struct OrtAllocator;
struct OrtCUDAProviderOptionsV2;
struct OrtEnv;
struct OrtIoBinding;
struct OrtRunOptions;
struct OrtSession;
struct OrtSessionOptions;
struct OrtStatus;
struct OrtTensorRTProviderOptionsV2;
struct OrtThreadingOptions;
struct OrtValue;

namespace plumb::onnxruntime {

/// The version of the table that has all functions below: that of ONNX Runtime 1.15.
inline constexpr std::uint32_t kApiVersion = 15;

/// Function of the table by its position.
template <std::size_t position, typename Signature>
struct Entry {
  static constexpr std::size_t kPosition = position;
  using Function = Signature*;
};

namespace api {

inline constexpr int kLogWarnings = 2;  // errors are above
inline constexpr int kParallelExecution = 1;

/// What takes messages: its own parameter, severity, category, log id, place in the code, message.
using LoggingFunction = void(void*, int, const char*, const char*, const char*, const char*);

using GetErrorMessage = Entry<2, const char*(const OrtStatus*)>;
using CreateSessionFromArray =
    Entry<8,
          OrtStatus*(
              const OrtEnv*, const void*, std::size_t, const OrtSessionOptions*, OrtSession**)>;
using CreateSessionOptions = Entry<10, OrtStatus*(OrtSessionOptions**)>;
using SetSessionExecutionMode = Entry<13, OrtStatus*(OrtSessionOptions*, int)>;
using EnableProfiling = Entry<14, OrtStatus*(OrtSessionOptions*, const char*)>;
using SetSessionLogId = Entry<20, OrtStatus*(OrtSessionOptions*, const char*)>;
using SetSessionGraphOptimizationLevel = Entry<23, OrtStatus*(OrtSessionOptions*, int)>;
using SetIntraOpNumThreads = Entry<24, OrtStatus*(OrtSessionOptions*, int)>;
using SetInterOpNumThreads = Entry<25, OrtStatus*(OrtSessionOptions*, int)>;
using CreateTensorAsOrtValue =
    Entry<48, OrtStatus*(OrtAllocator*, const std::int64_t*, std::size_t, int, OrtValue**)>;
using GetTensorMutableData = Entry<51, OrtStatus*(OrtValue*, void**)>;
using AllocatorFree = Entry<76, OrtStatus*(OrtAllocator*, void*)>;
using GetAllocatorWithDefaultOptions = Entry<78, OrtStatus*(OrtAllocator**)>;
using ReleaseEnv = Entry<92, void(OrtEnv*)>;
using ReleaseStatus = Entry<93, void(OrtStatus*)>;
using ReleaseSession = Entry<95, void(OrtSession*)>;
using ReleaseValue = Entry<96, void(OrtValue*)>;
using ReleaseSessionOptions = Entry<100, void(OrtSessionOptions*)>;
using SessionEndProfiling = Entry<110, OrtStatus*(OrtSession*, OrtAllocator*, char**)>;
using DisablePerSessionThreads = Entry<120, OrtStatus*(OrtSessionOptions*)>;
using CreateThreadingOptions = Entry<121, OrtStatus*(OrtThreadingOptions**)>;
using ReleaseThreadingOptions = Entry<122, void(OrtThreadingOptions*)>;
using GetAvailableProviders = Entry<125, OrtStatus*(char***, int*)>;
using ReleaseAvailableProviders = Entry<126, OrtStatus*(char**, int)>;
using RunWithBinding =
    Entry<133, OrtStatus*(OrtSession*, const OrtRunOptions*, const OrtIoBinding*)>;
using CreateIoBinding = Entry<134, OrtStatus*(OrtSession*, OrtIoBinding**)>;
using ReleaseIoBinding = Entry<135, void(OrtIoBinding*)>;
using BindInput = Entry<136, OrtStatus*(OrtIoBinding*, const char*, const OrtValue*)>;
using BindOutput = Entry<137, OrtStatus*(OrtIoBinding*, const char*, const OrtValue*)>;
using SetGlobalIntraOpNumThreads = Entry<147, OrtStatus*(OrtThreadingOptions*, int)>;
using SetGlobalInterOpNumThreads = Entry<148, OrtStatus*(OrtThreadingOptions*, int)>;
using CreateEnvWithCustomLoggerAndGlobalThreadPools =
    Entry<151,
          OrtStatus*(
              LoggingFunction*, void*, int, const char*, const OrtThreadingOptions*, OrtEnv**)>;
// The providers of NVIDIA are not among those that are appended by name.
using AppendTensorRtProvider =
    Entry<170, OrtStatus*(OrtSessionOptions*, const OrtTensorRTProviderOptionsV2*)>;
using CreateTensorRtProviderOptions = Entry<171, OrtStatus*(OrtTensorRTProviderOptionsV2**)>;
using ReleaseTensorRtProviderOptions = Entry<174, void(OrtTensorRTProviderOptionsV2*)>;
using AppendCudaProvider =
    Entry<204, OrtStatus*(OrtSessionOptions*, const OrtCUDAProviderOptionsV2*)>;
using CreateCudaProviderOptions = Entry<205, OrtStatus*(OrtCUDAProviderOptionsV2**)>;
using ReleaseCudaProviderOptions = Entry<208, void(OrtCUDAProviderOptionsV2*)>;
using SessionOptionsAppendExecutionProvider = Entry<
    216,
    OrtStatus*(
        OrtSessionOptions*, const char*, const char* const*, const char* const*, std::size_t)>;

}  // namespace api

/// Deleter of a handle by the function that releases its type.
template <typename Handle>
struct Release {
  void (*function)(Handle*) = nullptr;
  void operator()(Handle* handle) const { function(handle); }
};
template <typename Handle>
using Owned = std::unique_ptr<Handle, Release<Handle>>;

/// ONNX Runtime, loaded by path, and its environment with the threads that all sessions share.
class Library {
 public:
  /// Warnings and errors that the library logs, by session. Thread-safe.
  class Logs {
   public:
    /// Starts the log of a session. Returns the id that the session has to log under.
    [[nodiscard]] std::string start();
    /// Adds a message to a log, as one line. A long one is cut, and after 20 they are only counted.
    /// One under another id is of no session, and dropped.
    void add(const std::string& id, std::string message);
    /// Returns the lines of a log, and how many more there were. Empty: nothing was logged.
    [[nodiscard]] std::string text(const std::string& id) const;
    /// Drops the log of a session.
    void end(const std::string& id);

    /// Takes a message of the library, whose logging function this is. `logs` are the Logs.
    /// Writes it to standard error as well: the worker's log has what is of no session.
    static void receive(void* logs,
                        int severity,
                        const char* category,
                        const char* id,
                        const char* location,
                        const char* message) noexcept;

   private:
    struct Log {
      std::vector<std::string> lines;
      std::size_t left_out = 0;
    };
    mutable std::mutex mutex_;
    std::map<std::string, Log> logs_;
    std::size_t started_ = 0;
  };

  /// Log of one session, for as long as the session is there.
  class SessionLog {
   public:
    /// Keeps a reference to the logs.
    explicit SessionLog(Logs& logs) : logs_(logs), id_(logs.start()) {}
    SessionLog(const SessionLog&) = delete;
    SessionLog& operator=(const SessionLog&) = delete;
    SessionLog(SessionLog&&) = delete;
    SessionLog& operator=(SessionLog&&) = delete;
    ~SessionLog() { logs_.end(id_); }

    [[nodiscard]] const std::string& id() const { return id_; }
    [[nodiscard]] std::string text() const { return logs_.text(id_); }

   private:
    Logs& logs_;
    std::string id_;
  };

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
  [[nodiscard]] Logs& logs() const { return *logs_; }
  [[nodiscard]] const std::string& version() const { return version_; }
  /// Lists the execution providers that the library was built with.
  [[nodiscard]] std::vector<std::string> providers() const;
  /// Returns an address inside the library.
  [[nodiscard]] const void* address() const { return table_[0]; }

 private:
  const void* const* table_ = nullptr;
  std::string version_;
  std::unique_ptr<Logs> logs_ = std::make_unique<Logs>();  // outlive the environment
  Owned<OrtEnv> environment_;
  OrtAllocator* allocator_ = nullptr;
};

}  // namespace plumb::onnxruntime
