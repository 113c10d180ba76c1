// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/onednn/exec/execution_plan.hpp"

namespace plumb::onednn {

/// Device on which layers run.
using Device = dnnl::engine;

/// Builder of one variant of a layer.
struct VariantBuilder {
  std::string implementation;               ///< the library's name, or "plumb:…"
  std::string details;                      ///< "layout=any;algorithm=direct": what identifies it
  std::size_t number = 1;                   ///< counts variants that otherwise have the same name
  std::vector<Argument> arguments;          ///< of the library's primitives
  std::vector<dnnl::memory::desc> layouts;  ///< layout that it wants of each argument; one to one
  std::function<ExecutionPlan()> build;

  [[nodiscard]] std::string text() const;   ///< "impl=NAME;DETAILS"
  [[nodiscard]] bool is_reference() const;  ///< whether it is the library's slow reference code
  /// Returns whether the variant takes and leaves images, all of them with their channels last.
  [[nodiscard]] bool has_channels_last() const;
};

/// List of a layer's variants in the library's order.
class BuilderList {
 public:
  /// Adds every implementation of a primitive, beginning with `first`.
  ///
  /// Takes ownership of `first`. If `status` is an error, nothing is added and the error is kept as
  /// the reason. Of equal implementations with equal layouts only the first counts. `finish`
  /// completes the plan of each.
  void add_implementations(dnnl_status_t status,
                           dnnl_primitive_desc_t first,
                           const std::vector<Argument>& arguments,
                           const std::string& details,
                           const std::function<void(ExecutionPlan&)>& finish = {});
  /// Adds one variant made of a built-in kernel or of several steps.
  void add(VariantBuilder builder);

  /// Removes the implementations whose names begin with `prefix`, and keeps the reason.
  void take_back(std::string_view prefix, std::string reason);

  [[nodiscard]] const std::vector<VariantBuilder>& builders() const { return builders_; }
  /// Moves the variants out of the list.
  [[nodiscard]] std::vector<VariantBuilder> take() { return std::move(builders_); }
  [[nodiscard]] bool empty() const { return builders_.empty(); }
  /// Returns whether the list has nothing but the library's slow reference code, or is empty.
  [[nodiscard]] bool only_references() const;
  /// Returns the reason of the library's last refusal.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  std::vector<VariantBuilder> builders_;
  std::string refusal_;
};

/// Makes a plan of one primitive, timing its creation.
[[nodiscard]] ExecutionPlan single_primitive_plan(const dnnl::primitive_desc_base& description,
                                                  const std::vector<Argument>& arguments);

/// Makes the primitive of a step, adding time and scratchpad to the plan's.
[[nodiscard]] dnnl::primitive make_primitive(const dnnl::primitive_desc_base& description,
                                             ExecutionPlan& plan);

/// Names a status in words: "unimplemented", "out of memory", …
[[nodiscard]] std::string status_text(dnnl_status_t status);

}  // namespace plumb::onednn
