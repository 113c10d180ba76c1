// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/step_order.hpp"

#include <utility>

#include "harness/base/error.hpp"

namespace plumb::engine {
namespace {

constexpr std::size_t kBits = 64;

}  // namespace

std::vector<std::size_t> in_order(const StepNeeds& needs) {
  std::vector<std::size_t> open(needs.size());
  StepNeeds users(needs.size());
  std::vector<std::size_t> ready;
  for (std::size_t step = 0; step < needs.size(); ++step) {
    open[step] = needs[step].size();
    for (const std::size_t need : needs[step]) {
      users.at(need).push_back(step);
    }
    if (open[step] == 0) {
      ready.push_back(step);
    }
  }
  for (std::size_t next = 0; next < ready.size(); ++next) {
    for (const std::size_t user : users[ready[next]]) {
      if (--open[user] == 0) {
        ready.push_back(user);
      }
    }
  }
  PLUMB_CHECK(ready.size() == needs.size());
  return ready;
}

StepOrder::StepOrder(const StepNeeds& needs) : reached_(needs.size()) {
  for (const std::size_t step : in_order(needs)) {
    std::vector<std::uint64_t>& reached = reached_[step];
    reached.resize(needs.size() / kBits + 1);
    for (const std::size_t need : needs[step]) {
      // Steps come after their needs here, so the bits of each need are complete.
      for (std::size_t word = 0; word < reached.size(); ++word) {
        reached[word] |= reached_[need][word];
      }
      reached[need / kBits] |= std::uint64_t{1} << (need % kBits);
    }
  }
}

bool StepOrder::before(std::size_t earlier, std::size_t later) const {
  return (reached_.at(later).at(earlier / kBits) >> (earlier % kBits) & 1U) != 0;
}

}  // namespace plumb::engine
