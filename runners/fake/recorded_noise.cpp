// SPDX-License-Identifier: Apache-2.0
#include "runners/fake/recorded_noise.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/file_descriptor.hpp"

namespace plumb::fake {
namespace {

std::vector<double> read_factors(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<double> factors;
  for (std::string line; std::getline(in, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    const double factor = std::strtod(line.c_str(), nullptr);
    if (!(factor > 0.0 && factor < 1e6)) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' has the line '{}', which is no factor", file.string(), line));
    }
    factors.push_back(factor);
  }
  if (factors.empty()) {
    throw Error(Error::Kind::kUser, fmt::format("'{}' has no factors of noise", file.string()));
  }
  return factors;
}

/// Returns the number in a counter file, and leaves the next one there.
std::uint64_t count_up(const std::filesystem::path& file) {
  const FileDescriptor counter(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  std::array<char, 32> text{};
  if (counter.number() < 0 || ::flock(counter.number(), LOCK_EX) != 0 ||
      ::pread(counter.number(), text.data(), text.size() - 1, 0) < 0) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot count in '{}': {}", file.string(), std::strerror(errno)));
  }
  const std::uint64_t number = std::strtoull(text.data(), nullptr, 10);
  const std::string next = std::to_string(number + 1) + "\n";
  if (::pwrite(counter.number(), next.data(), next.size(), 0) !=
      static_cast<ssize_t>(next.size())) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot count in '{}': {}", file.string(), std::strerror(errno)));
  }
  return number;
}

}  // namespace

RecordedNoise::RecordedNoise(std::filesystem::path factors, std::filesystem::path counter)
    : factors_(std::move(factors)), counter_(std::move(counter)) {}

double RecordedNoise::factor() const {
  if (!factor_) {
    const std::vector<double> factors = read_factors(factors_);
    factor_ = factors[count_up(counter_) % factors.size()];
  }
  return *factor_;
}

}  // namespace plumb::fake
