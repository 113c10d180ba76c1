// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace plumb::model {

/// One operator of the layer-key vocabulary (docs/reference/layer-keys.md).
struct OpSchema {
  /// One attribute of an operator.
  struct Attribute {
    /// Alternative of model::Attribute that an attribute uses. The values are the indices of those.
    enum class Kind : std::size_t { kInteger, kReal, kWord, kIntegers, kReals };

    std::string_view name;  ///< empty: the row is not used
    Kind kind = Kind::kInteger;
    std::string_view words;  ///< of kWord: the words allowed, "spatial|per_activation"
  };

  std::string_view op;
  std::size_t min_inputs = 1;
  std::size_t max_inputs = 1;
  std::size_t max_outputs = 1;
  std::array<Attribute, 8> attributes{};  ///< alphabetical; ends at the first without a name

  /// Returns the number of attributes with a name.
  [[nodiscard]] std::size_t attribute_count() const;
};

/// Returns the whole vocabulary.
[[nodiscard]] std::span<const OpSchema> op_schemas();

/// Finds an operator. Null if the vocabulary lacks it.
[[nodiscard]] const OpSchema* find_op_schema(std::string_view op);

/// Returns how many parameters an `eltwise` function takes. Empty if there is no such function.
[[nodiscard]] std::optional<std::size_t> eltwise_parameter_count(std::string_view fn);

/// Returns the `eltwise` function whose gradient a fused step or `eltwise_backward` computes.
/// "relu_backward" gives "relu". Empty if `fn` is no such name, or the function has no gradient.
[[nodiscard]] std::optional<std::string_view> function_of_gradient(std::string_view fn);

/// Fused step that keeps the elements whose bit in its operand is set
/// (docs/reference/layer-keys.md).
inline constexpr std::string_view kBitMask = "bit_mask";

/// Returns whether `fn` is a function of the `binary` operator.
[[nodiscard]] bool is_binary_function(std::string_view fn);

/// Returns whether `word` is one of `words`, written "a|b|c".
[[nodiscard]] bool is_one_of(std::string_view words, std::string_view word);

}  // namespace plumb::model
