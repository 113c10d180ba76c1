// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/samples/profile_frames.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "harness/analysis/profile/profile_summary.hpp"

namespace plumb::reporting {
namespace {

/// Function of a step, and what it called.
struct Node {
  std::uint64_t samples = 0;  ///< of calls, too
  std::map<std::uint32_t, Node> called;
};

void add_frames(const results::NamedProfile& profile,
                const std::map<std::uint32_t, Node>& nodes,
                std::size_t depth,
                std::uint64_t first,
                std::vector<ProfileFrame>& frames) {
  std::vector<const std::pair<const std::uint32_t, Node>*> order;
  order.reserve(nodes.size());
  for (const auto& node : nodes) {
    order.push_back(&node);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* left, const auto* right) {
    return left->second.samples > right->second.samples;
  });
  for (const auto* const node : order) {
    const results::ProfiledFunction& function = profile.functions.at(node->first);
    frames.push_back(
        {analysis::name_of(function), first, node->second.samples, depth, function.image});
    add_frames(profile, node->second.called, depth + 1, first, frames);
    first += node->second.samples;
  }
}

}  // namespace

std::vector<results::ProfiledStack> list_stacks(const results::NamedProfile& profile) {
  if (!profile.stacks.empty()) {
    return profile.stacks;
  }
  std::vector<results::ProfiledStack> stacks;
  for (const results::ProfileCell& cell : profile.cells) {
    const std::uint64_t samples = std::accumulate(
        cell.counts.begin(), cell.counts.end(), std::uint64_t{0}, [](auto sum, const auto& count) {
          return sum + count.samples;
        });
    stacks.push_back({cell.step, {cell.function}, samples});
  }
  return stacks;
}

const char* frame_color(const ProfileFrame& frame) {
  if (frame.depth == 0) {
    return "#c9ced6";
  }
  if (frame.depth == 1) {
    return "#f2b366";
  }
  return frame.image == results::kGeneratedImage ? "#e2725b" : "#8fb3d9";
}

std::vector<ProfileFrame> list_visible_frames(const results::NamedProfile& profile) {
  constexpr std::uint64_t kMaxFrames = 6000;  // beside each other: thinner ones cannot be seen
  std::vector<ProfileFrame> frames = list_frames(profile);
  const std::uint64_t whole = frames.front().samples;
  std::erase_if(frames, [&](const ProfileFrame& frame) {
    return frame.samples == 0 || frame.samples * kMaxFrames < whole;
  });
  return frames;
}

std::vector<ProfileFrame> list_frames(const results::NamedProfile& profile) {
  std::map<std::uint32_t, Node> steps;
  std::uint64_t whole = 0;
  for (const results::ProfiledStack& stack : list_stacks(profile)) {
    Node* node = &steps[stack.step];
    node->samples += stack.samples;
    for (const std::uint32_t function : stack.functions) {
      node = &node->called[function];
      node->samples += stack.samples;
    }
    whole += stack.samples;
  }
  std::vector<ProfileFrame> frames{{profile.model, 0, whole, 0, ""}};
  std::uint64_t first = 0;
  for (const auto& [step, node] : steps) {
    frames.push_back({analysis::step_name(profile, step), first, node.samples, 1, ""});
    add_frames(profile, node.called, 2, first, frames);
    first += node.samples;
  }
  return frames;
}

}  // namespace plumb::reporting
