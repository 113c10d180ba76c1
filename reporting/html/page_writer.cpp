// SPDX-License-Identifier: Apache-2.0
#include "reporting/html/page_writer.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "reporting/html/embedded_page.hpp"

namespace plumb::reporting {
namespace {

/// Returns JSON that is safe inside <script>. It has no '<', '>' or '&', and no line separator that
/// JavaScript would see.
std::string script_safe(const nlohmann::ordered_json& document) {
  const std::string plain =
      document.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(plain.size());
  for (const char c : plain) {
    switch (c) {
      case '<':
        safe += "\\u003c";
        break;
      case '>':
        safe += "\\u003e";
        break;
      case '&':
        safe += "\\u0026";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

/// Writes the template with each @@NAME@@ replaced. Text that was filled in is not searched again.
void fill(std::string_view text,
          const std::map<std::string_view, std::string_view>& parts,
          std::ostream& out) {
  while (true) {
    const std::size_t begin = text.find("@@");
    const std::size_t end = begin == std::string_view::npos ? begin : text.find("@@", begin + 2);
    if (end == std::string_view::npos) {
      out << text;
      return;
    }
    out << text.substr(0, begin) << parts.at(text.substr(begin + 2, end - begin - 2));
    text.remove_prefix(end + 2);
  }
}

}  // namespace

void write_page(const PageParts& parts, std::ostream& out) {
  const EmbeddedPage page = embedded_page();
  const std::string safe = script_safe(parts.data);
  fill(page.html,
       {{"TITLE", parts.title},
        {"BODY", parts.body},
        {"CSS", page.css},
        {"DATA", safe},
        {"LICENCE", page.licence},
        {"CHARTS", page.charts},
        {"SCRIPT", parts.script}},
       out);
}

}  // namespace plumb::reporting
