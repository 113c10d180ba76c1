// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace plumb {

/// Reads what oneDNN prints with ONEDNN_VERBOSE=dispatch: for each implementation that it passed
/// over ("brg:avx512_core") the reasons in its words, each once, joined by "; ". Version 3.2 prints
/// them for products only, later ones for more, earlier ones for nothing. Lines that are no such
/// message, or name no implementation, are left out. Source: oneDNN developer guide, "Verbose
/// mode".
[[nodiscard]] std::map<std::string, std::string> dispatch_reasons(std::string_view log);

}  // namespace plumb
