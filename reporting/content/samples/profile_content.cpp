// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>

#include "harness/analysis/profile/profile_shares.hpp"
#include "reporting/content/samples/profile_files.hpp"

namespace plumb::reporting {
namespace {

constexpr double kHotPercent =
    5.0;  // of the function's samples; the hottest instruction stands out in any case

ListingContent::Row gap() {
  ListingContent::Row row;
  row.instruction = "…";
  return row;
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

std::vector<std::string> list_notes(const analysis::FunctionGrowth::Listing& code) {
  const results::NamedProfile::Listing& listing = code.listing;
  std::vector<std::string> notes;
  if (listing.alike > 0 && !listing.function.name.empty()) {
    notes.push_back(
        fmt::format("{} more code of this name has samples; this one has most", listing.alike));
  }
  if (!listing.problem.empty()) {
    notes.push_back(fmt::format("no instructions: {}", listing.problem));
    return notes;
  }
  if (!listing.exact) {
    notes.emplace_back(
        "approximate: a sample may lie some instructions after the one that took the time");
    notes.emplace_back(
        "impossible here: to tell what an instruction waits for, which takes hardware counters");
  }
  if (listing.instructions.size() < listing.disassembled) {
    std::uint64_t samples = 0;
    for (const results::NamedProfile::Listing::Instruction& instruction : listing.instructions) {
      samples += instruction.samples;
    }
    notes.push_back(
        fmt::format("the instructions shown are {} of {} and have {:.0f} % of its samples",
                    listing.instructions.size(),
                    listing.disassembled,
                    percent(samples, listing.samples)));
  }
  if (!code.drawn) {
    notes.emplace_back(
        "the intervals are those of independent samples: there are too few blocks to draw from");
  }
  if (listing.bytes_listed < listing.bytes) {
    notes.push_back(fmt::format("only the first {} bytes are listed", listing.bytes_listed));
  }
  return notes;
}

}  // namespace

ListingContent describe_listing(const analysis::FunctionGrowth::Listing& code) {
  const results::NamedProfile::Listing& listing = code.listing;
  ListingContent content;
  content.title =
      fmt::format("{}, {}{}: {} samples, {:.1f} % of all{}",
                  analysis::name_of(listing.function),
                  listing.function.image,
                  listing.step.empty() ? "" : fmt::format(", most in {}", listing.step),
                  listing.samples,
                  percent(listing.samples, listing.of_profile),
                  listing.bytes > 0 ? fmt::format(", in {} bytes of code", listing.bytes) : "");
  content.notes = list_notes(code);
  const auto hottest = std::max_element(
      listing.instructions.begin(), listing.instructions.end(), [](const auto& a, const auto& b) {
        return a.samples < b.samples;
      });
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < listing.instructions.size(); ++i) {
    const results::NamedProfile::Listing::Instruction& instruction = listing.instructions[i];
    if (instruction.offset != next) {
      content.rows.push_back(gap());
    }
    next = instruction.offset + instruction.bytes;
    ListingContent::Row& row = content.rows.emplace_back();
    row.offset = fmt::format("{:x}", instruction.offset);
    row.instruction = instruction.text;
    const analysis::GroupedSamples::Share& share = code.shares.at(i);
    if (instruction.samples > 0 && share.interval) {
      row.hot = percent(instruction.samples, listing.samples) >= kHotPercent ||
                instruction.samples == hottest->samples;
      row.share = fmt::format("{:.1f} %", percent(instruction.samples, listing.samples));
      row.interval =
          fmt::format("{:.1f}–{:.1f}", 100.0 * share.interval->low, 100.0 * share.interval->high);
      row.samples = std::to_string(instruction.samples);
    }
  }
  if (!content.rows.empty() && next < listing.bytes) {
    content.rows.push_back(gap());
  }
  return content;
}

PageTable listing_table(const std::vector<ListingContent::Row>& rows) {
  PageTable table{.head = head_row("#share|#95 %|#samples|#offset|instruction"), .listing = true};
  for (const ListingContent::Row& line : rows) {
    PageRow& row = table.row();
    row << number_cell(line.share) << number_cell(line.interval) << number_cell(line.samples)
        << number_cell(line.offset) << code_cell(line.instruction);
    for (PageCell& cell : row) {
      cell.style = line.hot ? "hot" : "";
    }
  }
  return table;
}

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
    const results::NamedProfile::CodeNames::Function& function = profile.functions.at(node->first);
    frames.push_back(
        {analysis::name_of(function), first, node->second.samples, depth, function.image});
    add_frames(profile, node->second.called, depth + 1, first, frames);
    first += node->second.samples;
  }
}

}  // namespace

std::vector<results::NamedProfile::Stack> list_stacks(const results::NamedProfile& profile) {
  if (!profile.stacks.empty()) {
    return profile.stacks;
  }
  std::vector<results::NamedProfile::Stack> stacks;
  for (const results::NamedProfile::Cell& cell : profile.cells) {
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
  for (const results::NamedProfile::Stack& stack : list_stacks(profile)) {
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
