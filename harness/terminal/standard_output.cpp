// SPDX-License-Identifier: Apache-2.0
#include "harness/terminal/standard_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>

#include "reporting/document/escaped_text.hpp"

namespace plumb::terminal {
namespace {

/// Makes text of many lines safe: line feeds and tabs stay.
std::string sanitize_lines(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    safe += reporting::sanitize_utf8(std::string(text.substr(0, end)));
    safe += text.substr(end, 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return safe;
}

}  // namespace

/// Text on its way to standard output, made safe line by line.
class StandardOutput::Text final : public std::streambuf {
 public:
  explicit Text(DescriptorBuffer& bytes) : bytes_(bytes), terminal_(isatty(STDOUT_FILENO) == 1) {}

 protected:
  int_type overflow(int_type character) override {
    if (!traits_type::eq_int_type(character, traits_type::eof())) {
      const char c = traits_type::to_char_type(character);
      return xsputn(&c, 1) == 1 ? character : traits_type::eof();
    }
    return traits_type::not_eof(character);
  }

  std::streamsize xsputn(const char* text, std::streamsize count) override {
    held_.append(text, static_cast<std::size_t>(count));
    const std::size_t end = held_.rfind('\n');
    if (end == std::string::npos) {
      return count;
    }
    const bool passed = pass(end + 1);
    return passed && (!terminal_ || bytes_.pubsync() == 0) ? count : 0;
  }

  int sync() override { return pass(held_.size()) ? bytes_.pubsync() : -1; }

 private:
  bool pass(std::size_t length) {
    const std::string safe = sanitize_lines(std::string_view(held_).substr(0, length));
    held_.erase(0, length);
    const auto count = static_cast<std::streamsize>(safe.size());
    return bytes_.sputn(safe.data(), count) == count;
  }

  DescriptorBuffer& bytes_;
  bool terminal_;
  std::string held_;  ///< the beginning of a line
};

StandardOutput::StandardOutput()
    : bytes_(STDOUT_FILENO),
      text_(std::make_unique<Text>(bytes_)),
      replaced_(std::cout.rdbuf(text_.get())) {}

StandardOutput::~StandardOutput() {
  std::cout.rdbuf(replaced_);
}

void StandardOutput::pass_bytes() {
  std::cout.flush();
  std::cout.rdbuf(&bytes_);
}

int StandardOutput::finish() {
  std::cout.flush();
  return bytes_.fault();
}

void hold_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) < 0) {
      // A lower number is in use, so that open() returns this one.
      static_cast<void>(
          ::open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY));  // NOLINT
    }
  }
}

}  // namespace plumb::terminal
