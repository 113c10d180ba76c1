// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "harness/base/file_io.hpp"
#include "harness/base/units.hpp"

namespace plumb::onednn {

/// oneDNN's verbose log in a file, with lines that say which step of a plan executes.
///
/// oneDNN writes to standard output, which leads into the file while this lives. The lines in
/// between are those that importers::read_onednn_log() knows. Not thread-safe.
class VerboseLog {
 public:
  /// Throws Error{kEnvironment} if the file cannot be written.
  explicit VerboseLog(const std::filesystem::path& file);
  ~VerboseLog();
  VerboseLog(const VerboseLog&) = delete;
  VerboseLog& operator=(const VerboseLog&) = delete;
  VerboseLog(VerboseLog&&) = delete;
  VerboseLog& operator=(VerboseLog&&) = delete;

  /// Writes the number of threads of a step, and of the processors that these may use.
  void write_threads(int threads, int processors);
  void begin_execution();
  void end_execution();
  /// `layers` are the layers of the model that the step executes: "3+4".
  void begin_step(std::size_t step, const std::string& layers);
  void end_step(Seconds time);
  /// Ends the log. Throws Error{kEnvironment} if it was not written wholly.
  void close();

 private:
  void restore() noexcept;

  FileDescriptor output_;  // standard output, as it was; invalid once restored
  bool failed_ = false;
};

}  // namespace plumb::onednn
