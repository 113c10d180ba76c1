// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "harness/base/whole_file.hpp"
#include "harness/terminal/messages.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::cli {

/// Writes the location of a report to stderr.
inline void announce_report(const std::filesystem::path& file) {
  terminal::say(fmt::format("report: {}", std::filesystem::absolute(file).string()));
}

/// Writes one report to each file, in the format that its extension chooses. Throws Error{kUser}
/// for an unknown extension before anything is written, else as write_whole_file() does.
template <typename Report>
void write_reports(const Report& report,
                   std::span<const reporting::OutputFormat<Report>> formats,
                   const std::vector<std::string>& files) {
  std::vector<const reporting::OutputFormat<Report>*> chosen;
  chosen.reserve(files.size());
  for (const std::string& file : files) {
    chosen.push_back(&reporting::format_for(formats, file));
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    write_whole_file(files[i], [&](std::ostream& out) { chosen[i]->write(report, out); });
    announce_report(files[i]);
  }
}

/// Returns a check that a file's extension names a format, for an option's value. It is made before
/// the command runs, and throws Error{kUser}.
template <typename Report>
[[nodiscard]] auto check_format(std::span<const reporting::OutputFormat<Report>> formats) {
  return [formats](const std::string& file) {
    static_cast<void>(reporting::format_for(formats, file));
  };
}

}  // namespace plumb::cli
