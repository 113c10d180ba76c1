// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/report/json_document.hpp"

namespace plumb::analysis {

Json new_document() {
  return Json{{"schema_version", kJsonSchemaVersion}};
}

std::string document_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

Json seconds_or_null(const std::optional<Seconds>& value) {
  return value ? Json(value->count()) : Json();
}

Json bytes_or_null(const std::optional<Bytes>& value) {
  return value ? Json(value->value) : Json();
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

}  // namespace plumb::analysis
