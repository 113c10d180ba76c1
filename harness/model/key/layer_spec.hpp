// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/model/key/tensor.hpp"

namespace plumb::model {

/// Identity of what a layer computes: the canonical text of a LayerSpec, version first.
///
/// It is one line that names, filters, reproduces and compares layers. `plumb layer 'KEY'` measures
/// it. How the layer is computed belongs to the variant, and where to the environment.
struct LayerKey {
  std::string text;  ///< "v1:conv;in=f32[1,64,56,56],f32[64,64,3,3]c;out=f32[1,64,56,56];…"

  auto operator<=>(const LayerKey&) const = default;
};

/// Beginning of a key's text: the version of keys.
inline constexpr std::string_view kKeyVersion = "v1:";

/// Returns whether a text begins as a layer's key does. Imported rows have other texts as keys.
[[nodiscard]] inline bool is_layer_key(std::string_view text) {
  return text.starts_with(kKeyVersion);
}

/// Returns the operator of a key: "conv" for "v1:conv;in=…". It is part of `key`.
[[nodiscard]] std::string_view operator_name(std::string_view key);

/// Layer that a suite lists by itself, in a shapes file.
struct ListedLayer {
  LayerKey key;
  std::int64_t count = 1;  ///< occurrences where it comes from
  std::string file;        ///< the shapes file

  auto operator<=>(const ListedLayer&) const = default;
};

}  // namespace plumb::model

template <>
struct std::hash<plumb::model::LayerKey> {
  std::size_t operator()(const plumb::model::LayerKey& key) const noexcept {
    return std::hash<std::string>{}(key.text);
  }
};

namespace plumb::model {

/// Value of one attribute. The operator's row in docs/reference/layer-keys.md fixes which of the
/// five types it has.
using Attribute =
    std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;

/// Operation fused behind the layer's own. The list's operations are applied to the result in
/// order.
struct Epilogue {
  std::string fn;  ///< an eltwise fn ("relu", "clip", …) or binary fn ("add", "mul")
  std::vector<double> parameters;  ///< as the eltwise op's parameters; empty for binary fns
  std::optional<std::size_t>
      operand;  ///< binary: index into LayerSpec::inputs of the second operand

  auto operator<=>(const Epilogue&) const = default;
};

/// All that changes what a layer computes, and at what promise of precision. It is a comparable
/// value, and its text is the LayerKey.
///
/// `op` is one of the vocabulary in docs/reference/layer-keys.md. Operands that only configure the
/// layer (a Reshape's shape, a Slice's starts) are in `attributes`, never in `inputs`. Attributes
/// are complete: every default of the opset is written out.
struct LayerSpec {
  /// Precision that a layer promises. Only variants that keep the promise compete for "best".
  enum class MathClass { kStrict, kTf32, kDownConvert, kDeterministic };

  std::string op;
  std::vector<std::optional<TensorType>> inputs;  ///< absent: an optional operand left out ("-")
  std::vector<TensorType> outputs;
  DataType accumulate = DataType::kF32;
  MathClass math = MathClass::kStrict;
  std::map<std::string, Attribute> attributes;
  std::vector<Epilogue> epilogue;

  auto operator<=>(const LayerSpec&) const = default;

  /// Returns an attribute that the op's row requires. These accessors throw Error{kInternal} if it
  /// is absent or of another type.
  [[nodiscard]] std::int64_t integer(const std::string& name) const;
  [[nodiscard]] double real(const std::string& name) const;
  [[nodiscard]] const std::string& text(const std::string& name) const;
  [[nodiscard]] const std::vector<std::int64_t>& integers(const std::string& name) const;
  [[nodiscard]] const std::vector<double>& reals(const std::string& name) const;
  /// Returns whether the i-th operand is given. Operand 2 of conv, conv_transpose and gemm is the
  /// bias.
  [[nodiscard]] bool has_input(std::size_t index) const {
    return index < inputs.size() && inputs[index].has_value();
  }
};

[[nodiscard]] std::string_view to_text(LayerSpec::MathClass math);

/// Writes the canonical text. Equal specs give equal keys, and unequal specs unequal ones.
[[nodiscard]] LayerKey to_key(const LayerSpec& spec);

/// Parses a key that to_key wrote, in this or any earlier version. Throws Error{kUser}, naming the
/// field, for anything else. Hostile text is bounded (64 KiB).
[[nodiscard]] LayerSpec parse_key(const LayerKey& key);

/// Returns the number of images that a convolution, or its gradient, computes one by one, so that
/// they may be computed in parts. Absent for other layers.
[[nodiscard]] std::optional<std::int64_t> find_batch(const LayerSpec& spec);

/// Returns whether an operand has a part for each image. Requires find_batch().
[[nodiscard]] bool has_images(const LayerSpec& spec, std::size_t operand);

/// Returns whether what the parts compute adds up to the layer's results, as gradients of weights
/// do. The results of others have a part for each image.
[[nodiscard]] bool adds_parts(const LayerSpec& spec);

/// Lists the layers that add what one part computes to what the parts before it computed, one for
/// each result. Empty: the parts need no additions.
[[nodiscard]] std::vector<LayerKey> part_additions(const LayerSpec& spec);

/// Returns the layer of another number of images. Requires find_batch().
[[nodiscard]] LayerSpec with_batch(LayerSpec spec, std::int64_t batch);

}  // namespace plumb::model
