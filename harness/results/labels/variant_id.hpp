// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace plumb::results {

/// Identity of a variant, read from its canonical text:
/// "impl=brgconv:avx512_core;layout=any;algorithm=direct". It refers to that text.
class VariantId {
 public:
  explicit VariantId(std::string_view text) : text_(text) {}

  /// Returns the value of a field. Absent: empty. Fields of parts in brackets do not count.
  [[nodiscard]] std::string_view field(std::string_view name) const;
  /// Returns the library's name of the implementation: "brgconv:avx512_core".
  [[nodiscard]] std::string_view implementation() const { return field("impl"); }
  /// Returns the layout of activations. It is "any" where the library chooses it too, else the one
  /// that the caller fixed.
  [[nodiscard]] std::string_view layout() const { return field("layout"); }
  /// Returns whether the caller fixed a layout with the channels last. Where the library chooses
  /// the layout, the text does not tell.
  [[nodiscard]] bool has_channels_last() const {
    return layout() == "channels_last" || layout() == "NHWC";
  }
  /// Returns whether the implementation is Plumbline's and not the library's.
  [[nodiscard]] bool is_own() const {
    return implementation().substr(0, implementation().find(':')) == "plumb";
  }

 private:
  std::string_view text_;
};

}  // namespace plumb::results
