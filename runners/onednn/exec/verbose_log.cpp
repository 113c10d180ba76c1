// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/verbose_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>

#include "harness/base/error.hpp"

namespace plumb::onednn {
namespace {

constexpr int kExecutionsAndCreations = 2;

double seconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

VerboseLog::VerboseLog(const std::filesystem::path& file) {
  std::fflush(stdout);
  const FileDescriptor target(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  output_ = FileDescriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (target.number() < 0 || output_.number() < 0 || ::dup2(target.number(), STDOUT_FILENO) < 0) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot write '{}': {}", file.string(), std::strerror(errno)));
  }
  // The library reads this when it writes its first line.
  ::setenv("ONEDNN_VERBOSE_TIMESTAMP", "1", 1);
  dnnl::set_verbose(kExecutionsAndCreations);
}

VerboseLog::~VerboseLog() {
  restore();
}

void VerboseLog::restore() noexcept {
  if (output_.number() < 0) {
    return;
  }
  dnnl_set_verbose(0);
  failed_ = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  ::dup2(output_.number(), STDOUT_FILENO);
  output_.reset();
}

void VerboseLog::write_threads(int threads, int processors) {
  fmt::print("plumb_threads,{},{}\n", threads, processors);
}

void VerboseLog::begin_execution() {
  fmt::print("plumb_execution,begin,{:.6f}\n", seconds_since_1970());
}

void VerboseLog::end_execution() {
  fmt::print("plumb_execution,end,{:.6f}\n", seconds_since_1970());
}

void VerboseLog::begin_step(std::size_t step, const std::string& layers) {
  fmt::print("plumb_step,{},{:.6f},{}\n", step, seconds_since_1970(), layers);
}

void VerboseLog::end_step(Seconds time) {
  fmt::print("plumb_step_end,{:.9f}\n", time.count());
}

void VerboseLog::close() {
  restore();
  if (failed_) {
    throw Error(Error::Kind::kEnvironment,
                "the log of oneDNN could not be written: check the space of the disk");
  }
}

}  // namespace plumb::onednn
