// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/training/last_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::analysis {
namespace {

constexpr std::int64_t kMaxSamples = 1'000'000'000'000;
constexpr std::int64_t kMaxCandidates = 10'000'000;

void check(const char* what, std::int64_t number) {
  if (number < 1 || number > kMaxSamples) {
    throw Error(Error::Kind::kUser,
                fmt::format("{} of {}: use a number from 1 to {}", what, number, kMaxSamples));
  }
}

}  // namespace

LastBatch last_batch(std::int64_t samples, std::int64_t batch) {
  check("a data set", samples);
  check("a batch", batch);
  const std::int64_t steps = (samples + batch - 1) / batch;
  return {samples, batch, steps, steps * batch - samples};
}

std::vector<LastBatch> least_wasteful_batches(std::int64_t samples,
                                              std::int64_t from,
                                              std::int64_t to,
                                              std::int64_t multiple,
                                              std::size_t most) {
  check("a batch", from);
  check("a batch", to);
  check("a multiple", multiple);
  const std::int64_t first = (from + multiple - 1) / multiple;
  const std::int64_t last = to / multiple;
  if (first > last || last - first >= kMaxCandidates) {
    throw Error(Error::Kind::kUser,
                fmt::format("{} multiples of {} lie from {} to {}: use a range with 1 to {}",
                            std::max<std::int64_t>(0, last - first + 1),
                            multiple,
                            from,
                            to,
                            kMaxCandidates));
  }
  std::vector<LastBatch> batches;
  for (std::int64_t factor = first; factor <= last; ++factor) {
    batches.push_back(last_batch(samples, factor * multiple));
  }
  std::stable_sort(batches.begin(), batches.end(), [](const LastBatch& a, const LastBatch& b) {
    return a.share() < b.share();
  });
  batches.resize(std::min(most, batches.size()));
  return batches;
}

}  // namespace plumb::analysis
