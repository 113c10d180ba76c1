// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/micro_batch/batch_division.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::analysis {
namespace {

/// Division as the dynamic programmes build it: one part, and the rest's place in a table.
struct Link {
  Seconds time{};
  Bytes workspace;
  std::size_t kernel = 0;
  std::int64_t rest = 0;    // the batch that is left; 0: nothing
  std::size_t rest_at = 0;  // among the divisions of the rest
};

using Front = std::vector<Link>;  // by ascending workspace and descending time

/// Keeps of all links those that no other beats, ascending in workspace.
Front pareto(Front links) {
  std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) {
    return std::pair(a.workspace, a.time) < std::pair(b.workspace, b.time);
  });
  Front front;
  for (const Link& link : links) {
    if (front.empty() || link.time < front.back().time) {
      front.push_back(link);
    }
  }
  return front;
}

/// Fronts of all batches from 0 to `batch`. With `cap`, only the fastest division of each is kept.
std::vector<Front> fronts(std::span<const PartKernel> kernels,
                          std::int64_t batch,
                          std::optional<Bytes> cap) {
  PLUMB_CHECK(batch > 0);
  std::vector<Front> of(static_cast<std::size_t>(batch) + 1);
  of[0] = {Link{}};
  for (std::int64_t size = 1; size <= batch; ++size) {
    Front links;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const PartKernel& kernel = kernels[i];
      // The smallest part of a division is at most half of it, or the whole.
      const bool part = kernel.batch == size || 2 * kernel.batch <= size;
      if (kernel.batch < 1 || !part || (cap && kernel.workspace > *cap)) {
        continue;
      }
      const std::int64_t rest = size - kernel.batch;
      const Front& smaller = of[static_cast<std::size_t>(rest)];
      for (std::size_t at = 0; at < smaller.size(); ++at) {
        links.push_back({kernel.time + smaller[at].time,
                         std::max(kernel.workspace, smaller[at].workspace),
                         i,
                         rest,
                         at});
      }
    }
    Front& front = of[static_cast<std::size_t>(size)];
    front = pareto(std::move(links));
    if (cap && front.size() > 1) {
      front = {front.back()};
    }
  }
  return of;
}

BatchDivision unroll(std::span<const PartKernel> kernels,
                     const std::vector<Front>& of,
                     const Link& whole) {
  BatchDivision division{{}, whole.time, whole.workspace};
  const Link* link = &whole;
  while (true) {
    division.parts.push_back(kernels[link->kernel]);
    if (link->rest == 0) {
      break;
    }
    link = &of[static_cast<std::size_t>(link->rest)][link->rest_at];
  }
  std::stable_sort(division.parts.begin(),
                   division.parts.end(),
                   [](const PartKernel& a, const PartKernel& b) { return a.batch > b.batch; });
  return division;
}

}  // namespace

std::vector<std::int64_t> batch_sizes(results::BatchPolicy policy, std::int64_t batch) {
  PLUMB_CHECK(batch > 0);
  std::vector<std::int64_t> sizes;
  const std::int64_t first = policy == results::BatchPolicy::kUndivided ? batch : 1;
  const auto next = [&](std::int64_t size) {
    return policy == results::BatchPolicy::kPowersOfTwo ? 2 * size : size + 1;
  };
  for (std::int64_t size = first; size < batch; size = next(size)) {
    sizes.push_back(size);
  }
  sizes.push_back(batch);
  return sizes;
}

std::optional<BatchDivision> fastest_division(std::span<const PartKernel> kernels,
                                              std::int64_t batch,
                                              Bytes cap) {
  const std::vector<Front> of = fronts(kernels, batch, cap);
  if (of.back().empty()) {
    return std::nullopt;
  }
  return unroll(kernels, of, of.back().front());
}

std::vector<BatchDivision> desirable_divisions(std::span<const PartKernel> kernels,
                                               std::int64_t batch) {
  const std::vector<Front> of = fronts(kernels, batch, {});
  std::vector<BatchDivision> divisions;
  for (const Link& link : of.back()) {
    divisions.push_back(unroll(kernels, of, link));
  }
  return divisions;
}

}  // namespace plumb::analysis
