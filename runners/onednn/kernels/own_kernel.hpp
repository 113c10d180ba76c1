// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "harness/model/layer_spec.hpp"
#include "runners/onednn/offer.hpp"

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

using OwnKernel = std::function<void(const KernelOperands& operands)>;

/// Offers a kernel of ours as "plumb:NAME" on dense operands. The kernel must not read or write
/// beyond them whatever the spec says: its maker checks shapes and throws Unsupported. Throws
/// Unsupported if the layer has an epilogue.
void add_own(OfferList& list, const LayerSpec& spec, const std::string& name, OwnKernel kernel);

/// Throws Unsupported, naming the operator, unless the condition holds.
void require(bool condition, const LayerSpec& spec, const char* what);

/// Makes every present operand (`count` of them) and one output a precondition.
void require_operands(const LayerSpec& spec, std::size_t count);

/// Returns the size of an element that is moved as it is. Throws Unsupported unless the first
/// operand and the first output have one type, and that a size.
[[nodiscard]] std::size_t moved_element_bytes(const LayerSpec& spec);

}  // namespace plumb::onednn
