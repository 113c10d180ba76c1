// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace plumb::onnxruntime {

/// Warnings and errors that the library logs, by session. Thread-safe.
class SessionLogs {
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

  /// Takes a message of the library, whose logging function this is. `logs` are the SessionLogs.
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
  explicit SessionLog(SessionLogs& logs) : logs_(logs), id_(logs.start()) {}
  SessionLog(const SessionLog&) = delete;
  SessionLog& operator=(const SessionLog&) = delete;
  SessionLog(SessionLog&&) = delete;
  SessionLog& operator=(SessionLog&&) = delete;
  ~SessionLog() { logs_.end(id_); }

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] std::string text() const { return logs_.text(id_); }

 private:
  SessionLogs& logs_;
  std::string id_;
};

}  // namespace plumb::onnxruntime
