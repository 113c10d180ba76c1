// SPDX-License-Identifier: Apache-2.0
#include "harness/stacks/installer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "harness/worker/client/child_process.hpp"

namespace plumb::stacks {
namespace {

constexpr std::size_t kLogLines = 12;  // of a failed installer, shown

std::vector<std::string> surroundings() {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    result.emplace_back(*variable);
  }
  return result;
}

/// Passes a program's output to `log` line by line, and returns the last kLogLines lines.
std::vector<std::string> read_lines(const FileDescriptor& output, const LineSink& log) {
  std::vector<std::string> last;
  std::string line;
  const auto finish_line = [&] {
    log(line);
    last.push_back(std::exchange(line, {}));
    if (last.size() > kLogLines) {
      last.erase(last.begin());
    }
  };
  std::array<char, 4096> piece{};
  while (true) {
    const ssize_t got = ::read(output.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    for (ssize_t i = 0; i < got; ++i) {
      if (piece[static_cast<std::size_t>(i)] == '\n') {
        finish_line();
      } else {
        line += piece[static_cast<std::size_t>(i)];
      }
    }
  }
  if (!line.empty()) {
    finish_line();
  }
  return last;
}

}  // namespace

std::string find_program(const std::string& name, const std::string& how_to_get) {
  const char* const path = std::getenv("PATH");
  // The distribution's programs come first: its python3 has venv if python3-venv is installed.
  const std::string folders = std::string("/usr/bin:") + (path == nullptr ? "/bin" : path);
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    std::string candidate = folders.substr(begin, end - begin) + '/' + name;
    if (::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
    begin = end + 1;
  }
  throw Error(Error::Kind::kEnvironment, fmt::format("there is no {}: {}", name, how_to_get));
}

void run_installer(const std::string& program,
                   const std::vector<std::string>& arguments,
                   const LineSink& log,
                   Error::Kind kind,
                   const std::string& what) {
  worker::ChildProcess child(program, arguments, surroundings());
  const FileDescriptor output = child.take_log();
  const std::vector<std::string> last = read_lines(output, log);
  const auto status = child.wait(Seconds(10.0));
  if (!status || *status != 0) {
    throw Error(kind, fmt::format("{}: {}", what, fmt::join(last, "; ")));
  }
}

}  // namespace plumb::stacks
