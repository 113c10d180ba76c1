// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace plumb::reporting {

/// Parts of a page that opens offline.
struct PageParts {
  std::string_view title;  ///< escaped
  std::string_view body;   ///< elements; nothing from outside is markup in them
  const nlohmann::ordered_json& data;
  std::string_view script;  ///< that draws the data
};

/// Writes one page. Nothing of its data is parsed as markup.
void write_page(const PageParts& parts, std::ostream& out);

}  // namespace plumb::reporting
