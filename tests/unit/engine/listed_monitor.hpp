// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "runners/engine/bench/layer_timing.hpp"

namespace plumb::engine {

/// Sees a list of blocks, one after the other; then the last of them again.
class ListedMonitor final : public BlockMonitor {
 public:
  explicit ListedMonitor(std::vector<BlockMonitor::Block> blocks) : blocks_(std::move(blocks)) {}
  void begin() override { begun += 1; }
  [[nodiscard]] BlockMonitor::Block end() override {
    const BlockMonitor::Block block = blocks_[std::min(ended_, blocks_.size() - 1)];
    ended_ += 1;
    return block;
  }
  int begun = 0;

 private:
  std::vector<BlockMonitor::Block> blocks_;
  std::size_t ended_ = 0;
};

}  // namespace plumb::engine
