// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_driver/access_set.hpp"

#include <algorithm>
#include <bit>

namespace plumb::stand_in {

void ByteSet::add_range(std::size_t offset, std::size_t bytes) {
  if (bytes > 0) {
    whole_.emplace_back(offset / kGrain, (offset + bytes + kGrain - 1) / kGrain);
  }
}

ByteSet::Ranges ByteSet::ranges() const {
  Ranges all = whole_;
  std::size_t grain = 0;
  const std::size_t end = bits_.size() * kBits;
  const auto next = [&](std::size_t from, bool wanted) {
    while (from < end) {
      std::uint64_t word = bits_[from / kBits];
      word = (wanted ? word : ~word) >> (from % kBits);
      if (word != 0) {
        return std::min(end, from + static_cast<std::size_t>(std::countr_zero(word)));
      }
      from = (from / kBits + 1) * kBits;
    }
    return end;
  };
  while ((grain = next(grain, true)) < end) {
    const std::size_t last = next(grain, false);
    all.emplace_back(grain, last);
    grain = last;
  }
  std::sort(all.begin(), all.end());
  Ranges merged;
  for (const auto& range : all) {
    if (!merged.empty() && range.first <= merged.back().second) {
      merged.back().second = std::max(merged.back().second, range.second);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

bool overlap(const ByteSet::Ranges& a, const ByteSet::Ranges& b) {
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() && right != b.end()) {
    if (left->second <= right->first) {
      ++left;
    } else if (right->second <= left->first) {
      ++right;
    } else {
      return true;
    }
  }
  return false;
}

}  // namespace plumb::stand_in
