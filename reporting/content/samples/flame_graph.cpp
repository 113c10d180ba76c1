// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "harness/base/utf8_text.hpp"
#include "reporting/content/samples/profile_files.hpp"
#include "reporting/content/samples/profile_frames.hpp"
#include "reporting/document/escape_xml.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

constexpr double kWidth = 1200.0;
constexpr double kRowHeight = 20.0;
constexpr double kLetterWidth = 6.6;  // of the font below

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
  return name.substr(0, whole_characters(name, most - 1)) + "…";
}

void write_frame(const ProfileFrame& frame, std::uint64_t whole, std::ostream& out) {
  const double scale = kWidth / static_cast<double>(whole);
  const double width = static_cast<double>(frame.samples) * scale;
  const double x = static_cast<double>(frame.first) * scale;
  const double y = static_cast<double>(frame.depth) * kRowHeight;
  const std::string name = sanitize_utf8(frame.name);
  out << fmt::format(R"(<g><title>{}: {} samples, {:.2f} %</title>)",
                     escape_xml(name),
                     frame.samples,
                     100.0 * static_cast<double>(frame.samples) / static_cast<double>(whole))
      << fmt::format(R"(<rect x="{:.2f}" y="{:.0f}" width="{:.2f}" height="{:.0f}" fill="{}"/>)",
                     x,
                     y,
                     width,
                     kRowHeight - 1.0,
                     frame_color(frame));
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

void write_flame_graph(const results::NamedProfile& profile, std::ostream& out) {
  const std::vector<ProfileFrame> frames = list_visible_frames(profile);
  std::size_t deepest = 0;
  for (const ProfileFrame& frame : frames) {
    deepest = std::max(deepest, frame.depth);
  }
  out << fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" )"
      R"(height="{1:.0f}" font-family="monospace" font-size="11">)"
      "\n",
      kWidth,
      static_cast<double>(deepest + 1) * kRowHeight);
  for (const ProfileFrame& frame : frames) {
    write_frame(frame, frames.front().samples, out);
  }
  out << "</svg>\n";
}

}  // namespace plumb::reporting
