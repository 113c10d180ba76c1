// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/hash64.hpp"

namespace plumb::session {

/// Shuffles values into an order that a run's id and a round's number fix, on any machine. The
/// method is that of Fisher and Yates. std::shuffle differs between libraries.
template <typename Value>
void shuffle_for(const std::string& run, std::size_t round, std::vector<Value>& values) {
  std::mt19937_64 random(hash64(std::as_bytes(std::span(run))) + round);
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[random() % i]);
  }
}

}  // namespace plumb::session
