// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/service/machine_controls.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "harness/results/paired_round.hpp"

namespace plumb::engine {
namespace {

constexpr std::int64_t kAttempts = 3;
constexpr std::size_t kTurns = 6;
constexpr std::size_t kExtent = 160;                   // three matrices: 300 KiB
constexpr std::size_t kCopied = std::size_t{4} << 20;  // words: 32 MiB

class FunctionRegion final : public measure::TimedRegion {
 public:
  explicit FunctionRegion(std::function<void()> work) : work_(std::move(work)) {}
  void run(std::size_t repetitions) override {
    for (std::size_t i = 0; i < repetitions; ++i) {
      work_();
    }
  }

 private:
  std::function<void()> work_;
};

void multiply(const std::vector<float>& left,
              const std::vector<float>& right,
              std::vector<float>& product) {
  for (std::size_t row = 0; row < kExtent; ++row) {
    float* const to = product.data() + row * kExtent;
    for (std::size_t k = 0; k < kExtent; ++k) {
      const float factor = left[row * kExtent + k];
      const float* const from = right.data() + k * kExtent;
      for (std::size_t column = 0; column < kExtent; ++column) {
        // Each pass overwrites the result of the one before, so that values stay small.
        to[column] = (k == 0 ? 0.0F : to[column]) + factor * from[column];
      }
    }
  }
}

/// Copies without the C library's functions, which a stack may replace.
void increment(const std::vector<std::uint64_t>& from, std::vector<std::uint64_t>& to) {
  for (std::size_t i = 0; i < kCopied; ++i) {
    to[i] = from[i] + 1;
  }
}

std::function<void()> product() {
  return
      [left = std::vector<float>(kExtent * kExtent, 0.5F),
       right = std::vector<float>(kExtent * kExtent, 0.25F),
       result = std::vector<float>(kExtent * kExtent)]() mutable { multiply(left, right, result); };
}

std::function<void()> copy() {
  return [from = std::vector<std::uint64_t>(kCopied, 1),
          to = std::vector<std::uint64_t>(kCopied, 0)]() mutable { increment(from, to); };
}

}  // namespace

results::Measurement measure_control(const model::LayerKey& key,
                                     LayerTiming& timing,
                                     const std::function<void()>& await_turn) {
  results::Measurement row;
  row.key = key;
  row.variant = "plumb";
  row.library_choice = true;
  std::function<void()> work;
  if (key.text == results::kFloorKey) {
    work = [] {};
  } else if (key.text == results::kProductKey) {
    work = product();
  } else if (key.text == results::kCopyKey) {
    work = copy();
  } else {
    row.outcome = {results::Outcome::Kind::kUnsupported, "there is no such control"};
    return row;
  }
  const measure::SamplingPlan plan{.warm_up_at_most = Seconds(0.02),
                                   .budget = Seconds(0.03),
                                   .relative_half_width = 0.0,
                                   .samples_at_most = 51};
  FunctionRegion region(std::move(work));
  if (await_turn) {
    timing.time_in_turns(region, plan, kTurns, await_turn, row);
  } else {
    timing.time(region, plan, kAttempts, row);
  }
  return row;
}

}  // namespace plumb::engine
