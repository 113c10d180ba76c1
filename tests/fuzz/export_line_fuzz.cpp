// SPDX-License-Identifier: Apache-2.0
//
// Any text is refused as a line of an export with an error of the user, or reads the same when it
// is written again. A derived record is refused, or has the fields that its readers need.
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "harness/base/error.hpp"
#include "harness/store/export_line.hpp"
#include "tests/fuzz/require.hpp"

using plumb::test::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  try {
    const store::ExportLine line =
        store::parse_export_line(std::string_view(reinterpret_cast<const char*>(data), size));
    const std::string text = to_json(line);
    require(text.find('\n') == std::string::npos);
    require(to_json(store::parse_export_line(text)) == text);
    if (const auto* const derived = std::get_if<store::ExportLines::Derived>(&line)) {
      store::check_derived_payload(derived->record);
    }
  } catch (const Error& error) {
    require(error.kind() == Error::Kind::kUser);
  }
  return 0;
}
