// SPDX-License-Identifier: Apache-2.0
#include "reporting/prometheus/gauge_family.hpp"

#include "harness/base/digest.hpp"
#include "harness/base/encoding.hpp"
#include "reporting/document/escaped_text.hpp"

namespace plumb::reporting {

std::string label_text(const std::string& text, std::size_t most) {
  std::string label = sanitize_utf8(text);
  if (label.size() <= most) {
    return label;
  }
  const std::string hash = '~' + sha256(text).substr(0, 8);
  return label.substr(0, whole_characters(label, most - hash.size())) + hash;
}

}  // namespace plumb::reporting
