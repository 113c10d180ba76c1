// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plumb::store {

/// Chain of digests through the lines of an export. The digest of a line covers it and all lines
/// before it, so that the last one covers the whole. It guards against damage, not forgery.
class ExportChain {
 public:
  /// Returns the line, a JSON object, with its digest as last field.
  [[nodiscard]] std::string seal(std::string_view line);
  /// Returns the line without its digest. Throws Error{kUser} if it has none, or if it or a line
  /// before it was altered.
  [[nodiscard]] std::string unseal(std::string_view line);

  /// Returns whether a line ends with a digest.
  [[nodiscard]] static bool is_sealed(std::string_view line);

 private:
  std::uint64_t digest_ = 0;
};

}  // namespace plumb::store
