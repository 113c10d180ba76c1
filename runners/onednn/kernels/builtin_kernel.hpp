// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "harness/model/key/tensor.hpp"
#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {

/// Addresses of a layer's dense operands and outputs, for a built-in kernel.
class KernelOperands {
 public:
  /// Walk over the rows (last dimension) of an output, together with operands that numpy's rule
  /// broadcasts to it.
  class Rows {
   public:
    static constexpr std::size_t kMaxOperands = 3;

    /// Positions of the operands at the beginning of one row, in elements.
    struct Row {
      std::array<std::size_t, kMaxOperands> start{};
      std::array<std::size_t, kMaxOperands>
          step{};  ///< 0: the same element along the whole row; else 1

      [[nodiscard]] std::size_t at(std::size_t operand, std::size_t item) const {
        return start[operand] + step[operand] * item;
      }
    };

    /// Prepares the walk over the first `operands` inputs and the first output. Throws Unsupported
    /// if they do not broadcast.
    Rows(const model::LayerSpec& spec, std::size_t operands);

    [[nodiscard]] std::size_t row_length() const { return length_; }

    /// Calls `visit(row)` for each row in the output's order.
    template <typename Visit>
    void for_each(Visit visit) const {
      if (length_ == 0) {
        return;
      }
      walk(0, Row{{}, last_}, visit);
    }

   private:
    template <typename Visit>
    void walk(std::size_t axis, Row row, Visit& visit) const {
      if (axis == extents_.size()) {
        visit(row);
        return;
      }
      for (std::size_t index = 0; index < extents_[axis]; ++index) {
        walk(axis + 1, row, visit);
        for (std::size_t operand = 0; operand < kMaxOperands; ++operand) {
          row.start[operand] += strides_[axis][operand];
        }
      }
    }

    std::vector<std::size_t> extents_;  // of all axes but the last
    std::vector<std::array<std::size_t, kMaxOperands>> strides_;
    std::array<std::size_t, kMaxOperands> last_{};
    std::size_t length_ = 1;
  };

  KernelOperands(std::span<std::byte* const> buffers, std::size_t inputs)
      : buffers_(buffers), inputs_(inputs) {}
  [[nodiscard]] const std::byte* input(std::size_t index) const { return buffers_[index]; }
  [[nodiscard]] std::byte* output(std::size_t index) const { return buffers_[inputs_ + index]; }

 private:
  std::span<std::byte* const> buffers_;
  std::size_t inputs_;
};

using BuiltinKernel = std::function<void(const KernelOperands& operands)>;

/// Adds a built-in kernel on dense operands to the list, as the variant "plumb:NAME".
///
/// The kernel must not read or write beyond them, whatever the spec says. So its maker checks
/// shapes and throws Unsupported. Throws Unsupported if the layer has an epilogue.
void add_own(VariantBuilder::List& list,
             const model::LayerSpec& spec,
             const std::string& name,
             BuiltinKernel kernel);

/// Throws Unsupported with the operator and `what` unless the condition holds.
void require(bool condition, const model::LayerSpec& spec, const char* what);

/// Throws Unsupported unless the first `count` operands are present and there is one output.
void require_operands(const model::LayerSpec& spec, std::size_t count);

/// Returns the size of an element that is moved as it is. Throws Unsupported unless the first
/// operand and the first output have one type, and that a size.
[[nodiscard]] std::size_t moved_element_bytes(const model::LayerSpec& spec);

/// Returns the type in which built-in kernels calculate: s64 for integers, f64 for f64, f32
/// otherwise.
[[nodiscard]] model::DataType calculation_type(model::DataType type);

/// Converts `count` elements of `type` to numbers. Number is float, double or std::int64_t. Throws
/// Unsupported for f8 and string.
template <typename Number>
void load(model::DataType type, const std::byte* source, std::size_t count, Number* destination);

/// Converts numbers to elements of `type`. Floating types round to the nearest, ties to even.
/// Integers drop the fraction, wrap around, and take NaN as 0. A bool says whether the number
/// differs from 0.
template <typename Number>
void store(model::DataType type, const Number* source, std::size_t count, std::byte* destination);

/// Throws Unsupported unless load() and store() know the type.
void check_number(model::DataType type);

/// Function that changes `count` numbers in place. `parameters` are the key's.
template <typename Number>
using UnaryFunction = void (*)(Number* numbers, std::size_t count, const double* parameters);

/// Returns an element-wise function of docs/reference/layer-keys.md, or null if Number has none.
/// Number is float, double or std::int64_t. Integers have relu, clip, abs, neg, sign, not, is_nan
/// and the roundings.
template <typename Number>
[[nodiscard]] UnaryFunction<Number> unary_function(std::string_view fn);

}  // namespace plumb::onednn
