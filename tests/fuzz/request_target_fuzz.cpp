// SPDX-License-Identifier: Apache-2.0
//
// Any target of a request is refused or read, and what was read comes back from its own encoding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "harness/base/encoding.hpp"
#include "harness/serve/request_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const auto target =
      serve::parse_request_target(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!target) {
    return 0;
  }
  std::string again;
  for (const std::string& segment : target->path) {
    again += "/" + percent_encoded(segment);
  }
  again += target->path.empty() ? "/" : "";
  char separator = '?';
  for (const auto& [name, value] : target->query) {
    again += separator + percent_encoded(name) + "=" + percent_encoded(value);
    separator = '&';
  }
  const auto read = serve::parse_request_target(again);
  // Escapes are three times as long: what no longer fits is refused, and nothing else is.
  if (read ? read->path != target->path || read->query != target->query : again.size() <= 4096) {
    std::abort();
  }
  return 0;
}
