// SPDX-License-Identifier: Apache-2.0
#include "harness/results/environment.hpp"

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

}  // namespace plumb::results
