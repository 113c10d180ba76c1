// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace plumb::reporting {

/// Writes one page that opens offline: its data, and the script that draws it. Nothing from a
/// model, a library or a file is parsed as markup.
void write_page(const nlohmann::ordered_json& data, std::string_view script, std::ostream& out);

}  // namespace plumb::reporting
