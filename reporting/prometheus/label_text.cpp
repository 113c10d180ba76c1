// SPDX-License-Identifier: Apache-2.0
#include "reporting/prometheus/label_text.hpp"

#include "harness/base/digest.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {

std::string label_text(const std::string& text, std::size_t most) {
  std::string label = sanitize_utf8(text);
  if (label.size() <= most) {
    return label;
  }
  const std::string hash = '~' + sha256(text).substr(0, 8);
  std::size_t end = most - hash.size();
  while (end > 0 && (static_cast<unsigned char>(label[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return label.substr(0, end) + hash;
}

}  // namespace plumb::reporting
