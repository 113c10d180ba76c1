// SPDX-License-Identifier: Apache-2.0
#include "harness/results/environment.hpp"

#include <charconv>

#include "harness/base/digest.hpp"

namespace plumb::results {

std::string Environment::id() const {
  std::string lines;
  for (const auto& [name, value] : identity) {
    lines += name;
    lines += '=';
    lines += value;
    lines += '\n';
  }
  return sha256(lines).substr(0, 16);
}

int threads_of(const Environment& environment) {
  const std::string text = fact_of(environment.identity, "threads");
  int threads = 1;
  std::from_chars(text.data(), text.data() + text.size(), threads);
  return threads;
}

}  // namespace plumb::results
