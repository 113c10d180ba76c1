// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"

namespace plumb::reporting {

/// One output format of one kind of report. A new format is one file and one row of a table.
template <typename Report>
struct OutputFormat {
  std::string_view extension;  ///< ".html", …
  std::string_view what;
  void (*write)(const Report& report, std::ostream& out);
};

/// Finds a format by the extension of a file. Throws Error{kUser} listing the extensions that there
/// are.
template <typename Report>
[[nodiscard]] const OutputFormat<Report>& format_for(std::span<const OutputFormat<Report>> formats,
                                                     std::string_view file_name) {
  std::string known;
  for (const OutputFormat<Report>& format : formats) {
    if (file_name.size() > format.extension.size() && file_name.ends_with(format.extension)) {
      return format;
    }
    known.append(known.empty() ? "" : ", ").append(format.extension);
  }
  throw Error(Error::Kind::kUser,
              "'" + std::string(file_name) +
                  "' does not have an extension that chooses a report's format: " + known);
}

/// Lists formats for a help text: ".html (one page that opens offline), .md (Markdown)".
template <typename Report>
[[nodiscard]] std::string format_list(std::span<const OutputFormat<Report>> formats) {
  std::string text;
  for (const OutputFormat<Report>& format : formats) {
    text.append(text.empty() ? "" : ", ").append(format.extension);
    text.append(" (").append(format.what).append(")");
  }
  return text;
}

/// Writes one report to each file, in the format that its extension chooses, and calls `written`
/// with each file. Throws Error{kUser} for an unknown extension before anything is written, else as
/// write_whole_file() does.
template <typename Report, typename Written>
void write_reports(const Report& report,
                   std::span<const OutputFormat<Report>> formats,
                   const std::vector<std::string>& files,
                   const Written& written) {
  std::vector<const OutputFormat<Report>*> chosen;
  chosen.reserve(files.size());
  for (const std::string& file : files) {
    chosen.push_back(&format_for(formats, file));
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    write_whole_file(files[i], [&](std::ostream& out) { chosen[i]->write(report, out); });
    written(files[i]);
  }
}

/// Returns a check that a file's extension names a format, for an option's value. It is made before
/// the command runs, and throws Error{kUser}.
template <typename Report>
[[nodiscard]] auto check_format(std::span<const OutputFormat<Report>> formats) {
  return [formats](const std::string& file) { static_cast<void>(format_for(formats, file)); };
}

}  // namespace plumb::reporting
