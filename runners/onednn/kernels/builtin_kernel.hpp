// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "harness/model/key/layer_spec.hpp"
#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {

/// Addresses of a layer's dense operands and outputs, for a built-in kernel.
class KernelOperands {
 public:
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
void add_own(BuilderList& list,
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

}  // namespace plumb::onednn
