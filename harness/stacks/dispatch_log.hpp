// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace plumb::stacks {

/// Reads from a log with ONEDNN_VERBOSE=dispatch why oneDNN passed over implementations.
///
/// For each implementation ("brg:avx512_core") the result has the reasons in oneDNN's words, each
/// once, joined by "; ". Left out are the reason "bad algorithm", and lines that are not such a
/// message or have too few fields. Version 3.2 prints reasons for products only, later versions for
/// more, earlier ones for nothing. Source: oneDNN developer guide, "Verbose mode".
[[nodiscard]] std::map<std::string, std::string> dispatch_reasons(std::string_view log);

}  // namespace plumb::stacks
