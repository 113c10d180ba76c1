// SPDX-License-Identifier: Apache-2.0
// Private to reporting: the layers that a suite lists by themselves, in the forms that formats
// share.
#pragma once

#include <iosfwd>

#include "reporting/json_documents.hpp"

namespace plumb {

/// Returns one object a layer; times are null where there is none.
[[nodiscard]] Json single_layers_json(const RunReport& report);

/// Writes a table for a terminal; nothing if there are no such layers.
void write_single_layers(const RunReport& report, std::ostream& out);

/// Returns multiply-accumulates a second, or a dash: "12.34 G".
[[nodiscard]] std::string rate_text(const SingleLayerResult& layer);

/// Returns how many times its hardware bound a layer takes, or a dash.
[[nodiscard]] std::string ratio_to_hardware(const SingleLayerResult& layer);

}  // namespace plumb
