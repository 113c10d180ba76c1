// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/layer_spec.hpp"
#include "runners/onednn/layer_plan.hpp"

namespace plumb::onednn {

/// Error for a layer that cannot be executed here, with the reason. It becomes an Outcome at the
/// backend's border and never leaves it.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Device on which layers run.
struct Device {
  dnnl::engine engine;
};

/// Ties an argument of a primitive to an operand of the layer.
struct Argument {
  int index = 0;  ///< DNNL_ARG_…
  Buffer::Role role = Buffer::Role::kInput;
  std::size_t operand = 0;  ///< index into the spec's inputs or outputs
  bool weight = false;
  dnnl::memory::desc view;  ///< the dense operand in the primitive's dimensions
};

/// One way to execute a layer, not yet made.
struct Offer {
  std::string implementation;  ///< the library's name, or "plumb:…"
  std::string details;     ///< "layout=any;algorithm=direct": all that tells it from its neighbours
  std::size_t number = 1;  ///< counts offers that are otherwise called the same
  std::vector<Argument> arguments;          ///< of the library's primitives
  std::vector<dnnl::memory::desc> layouts;  ///< how it wants each of them; one to one
  std::function<LayerPlan()> build;

  [[nodiscard]] std::string text() const;   ///< "impl=NAME;DETAILS"
  [[nodiscard]] bool is_reference() const;  ///< the library's slow reference code
  /// Returns whether the offer takes and leaves images, all of them with their channels last.
  [[nodiscard]] bool has_channels_last() const;
};

/// Collects the ways to execute a layer in the library's order.
class OfferList {
 public:
  /// Adds every implementation of a primitive, from `first` on (owned; taken also when the status
  /// is an error, which adds none and is remembered as the reason). Same implementation with the
  /// same layouts: only the first counts. `finish` completes the plan that is made of one.
  void add_implementations(dnnl_status_t status,
                           dnnl_primitive_desc_t first,
                           const std::vector<Argument>& arguments,
                           const std::string& details,
                           const std::function<void(LayerPlan&)>& finish = {});
  /// Adds one offer made of our own code or of several steps.
  void add(Offer offer);

  /// Takes back the implementations whose names begin with `prefix`, for the reason given.
  void take_back(std::string_view prefix, std::string reason);

  [[nodiscard]] const std::vector<Offer>& offers() const { return offers_; }
  [[nodiscard]] bool empty() const { return offers_.empty(); }
  /// Returns whether the list has nothing but the library's slow reference code, or nothing at all.
  [[nodiscard]] bool only_references() const;
  /// Returns the reason of the library's last refusal.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  std::vector<Offer> offers_;
  std::string refusal_;
};

/// Makes a plan of one primitive, timing its creation.
[[nodiscard]] LayerPlan single_primitive_plan(const dnnl::primitive_desc_base& description,
                                              const std::vector<Argument>& arguments);

/// Makes the primitive of a step, adding time and scratchpad to the plan's.
[[nodiscard]] dnnl::primitive make_primitive(const dnnl::primitive_desc_base& description,
                                             LayerPlan& plan);

/// Names a status in words: "unimplemented", "out of memory", …
[[nodiscard]] std::string status_text(dnnl_status_t status);

}  // namespace plumb::onednn
