// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/profile/profile_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "harness/analysis/profile/profile_summary.hpp"
#include "reporting/document/escape_xml.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

constexpr double kWidth = 1200.0;
constexpr double kRowHeight = 20.0;
constexpr double kLetterWidth = 6.6;  // of the font below
constexpr double kThinnest = 0.2;     // a narrower rectangle would not be seen

std::uint64_t samples_of(const results::ProfileCell& cell) {
  return std::accumulate(
      cell.counts.begin(), cell.counts.end(), std::uint64_t{0}, [](auto sum, const auto& count) {
        return sum + count.samples;
      });
}

/// Returns a name as part of a folded stack, whose parts end at semicolons and its lines at ends of
/// lines.
std::string folded_name(const std::string& name) {
  std::string text = sanitize_utf8(name);
  std::replace(text.begin(), text.end(), ';', ',');
  return text;
}

/// Rectangle of a flame graph.
struct Frame {
  std::string name;
  std::uint64_t first = 0;  ///< number of its first sample, from the left
  std::uint64_t samples = 0;
  std::size_t depth = 0;
  std::string image;  ///< of a function
};

/// Lists the rectangles of the model, its steps and their functions.
std::vector<Frame> list_frames(const results::NamedProfile& profile) {
  std::map<std::uint32_t, std::vector<const results::ProfileCell*>> by_step;
  std::uint64_t whole = 0;
  for (const results::ProfileCell& cell : profile.cells) {
    by_step[cell.step].push_back(&cell);
    whole += samples_of(cell);
  }
  std::vector<Frame> frames{{profile.model, 0, whole, 0, ""}};
  std::uint64_t first = 0;
  for (auto& [step, cells] : by_step) {
    std::stable_sort(cells.begin(), cells.end(), [](const auto* left, const auto* right) {
      return samples_of(*left) > samples_of(*right);
    });
    const std::size_t of_step = frames.size();
    frames.push_back({analysis::step_name(profile, step), first, 0, 1, ""});
    for (const results::ProfileCell* const cell : cells) {
      const results::ProfiledFunction& function = profile.functions.at(cell->function);
      frames.push_back({analysis::name_of(function), first, samples_of(*cell), 2, function.image});
      frames[of_step].samples += samples_of(*cell);
      first += samples_of(*cell);
    }
  }
  return frames;
}

const char* color_of(const Frame& frame) {
  if (frame.depth == 0) {
    return "#c9ced6";
  }
  if (frame.depth == 1) {
    return "#f2b366";
  }
  return frame.image == results::kGeneratedImage ? "#e2725b" : "#8fb3d9";
}

/// Returns as much of a name as fits, on whole characters of UTF-8.
std::string fitting(const std::string& name, double width) {
  const auto most = static_cast<std::size_t>(std::max(0.0, width / kLetterWidth - 1.0));
  if (name.size() <= most) {
    return name;
  }
  constexpr std::size_t kShortest = 3;
  if (most < kShortest) {
    return {};
  }
  std::size_t end = most - 1;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return name.substr(0, end) + "…";
}

void write_frame(const Frame& frame, std::uint64_t whole, std::ostream& out) {
  const double scale = kWidth / static_cast<double>(whole);
  const double width = static_cast<double>(frame.samples) * scale;
  if (width < kThinnest) {
    return;
  }
  const double x = static_cast<double>(frame.first) * scale;
  const double y = static_cast<double>(frame.depth) * kRowHeight;
  const std::string name = sanitize_utf8(frame.name);
  out << fmt::format("<g><title>{}: {} samples, {:.2f} %</title>",
                     escape_xml(name),
                     frame.samples,
                     100.0 * static_cast<double>(frame.samples) / static_cast<double>(whole))
      << fmt::format(R"(<rect x="{:.2f}" y="{:.0f}" width="{:.2f}" height="{:.0f}" fill="{}"/>)",
                     x,
                     y,
                     width,
                     kRowHeight - 1.0,
                     color_of(frame));
  const std::string label = fitting(name, width);
  if (!label.empty()) {
    out << fmt::format(R"(<text x="{:.2f}" y="{:.0f}">{}</text>)",
                       x + 3.0,
                       y + kRowHeight - 6.0,
                       escape_xml(label));
  }
  out << "</g>\n";
}

}  // namespace

void write_folded_stacks(const results::NamedProfile& profile, std::ostream& out) {
  for (const results::ProfileCell& cell : profile.cells) {
    out << fmt::format("{};{};{} {}\n",
                       folded_name(profile.model),
                       folded_name(analysis::step_name(profile, cell.step)),
                       folded_name(analysis::name_of(profile.functions.at(cell.function))),
                       samples_of(cell));
  }
}

void write_flame_graph(const results::NamedProfile& profile, std::ostream& out) {
  const std::vector<Frame> frames = list_frames(profile);
  out << fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" )"
      R"(height="{1:.0f}" font-family="monospace" font-size="11">)"
      "\n",
      kWidth,
      3.0 * kRowHeight);
  for (const Frame& frame : frames) {
    if (frame.samples > 0) {
      write_frame(frame, frames.front().samples, out);
    }
  }
  out << "</svg>\n";
}

}  // namespace plumb::reporting
