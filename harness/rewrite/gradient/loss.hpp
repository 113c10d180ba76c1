// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb::rewrite {

/// Number that training makes smaller, as a function of a model's result and a target.
enum class Loss {
  kCrossEntropy,  ///< −Σ target · log softmax(result), the mean over rows. The target has the
                  ///< result's extents. A softmax that ends the model is part of it
  kBinaryCrossEntropy,  ///< cross-entropy of two classes for each number x of the result, whose
                        ///< logits are 0 and x. The target has two for each. A sigmoid that ends
                        ///< the model is part of it
  kMeanSquaredError,    ///< the mean of (result − target)², of the same extents
  kFocal,  ///< focal loss of each number before a sigmoid, with α 0.25 and γ 2 (Lin et al., Focal
           ///< Loss for Dense Object Detection, 2017). Each sample's sum is divided by its labels
           ///< that are true, one at least. Labels are 0 or 1
  kDiceCrossEntropy,  ///< half a cross-entropy, and half a Dice loss: 1 − the mean overlap of
                      ///< samples and classes without the first, as MLPerf's 3D U-Net has it
};

/// Lists the names that parse_loss() knows.
[[nodiscard]] std::vector<std::string> loss_names();

[[nodiscard]] std::string_view to_text(Loss loss);
[[nodiscard]] std::optional<Loss> parse_loss(std::string_view text);

/// Layers that compute a loss, and where its gradient begins.
struct LossLayers {
  /// Place of the classes of a target, whose other extents count its rows. Class c of a row is
  /// `inner` elements behind class c − 1.
  struct ClassAxis {
    std::int64_t outer = 1;
    std::int64_t classes = 1;
    std::int64_t inner = 1;
    std::int64_t rarity = 1;  ///< one of so many rows has a class, and the others have none
  };

  Loss kind = Loss::kCrossEntropy;
  model::ValueId target = 0;    ///< input of the model
  model::ValueId loss = 0;      ///< a single number
  model::ValueId of = 0;        ///< the value whose gradient is known
  model::ValueId gradient = 0;  ///< of the loss by `of`
  std::optional<ClassAxis> classes{};
};

/// Adds `share` times a loss of a model's result to a graph, with the target as an input. Without a
/// loss it is the one that the model's last layer asks for. The gradient is multiplied by `scale`,
/// a single number, if there is one; the loss is not. All layers are marked (Layer::of_loss).
/// Throws Error{kUser} if the result is no floating tensor with elements, and for a cross-entropy
/// of one class.
[[nodiscard]] LossLayers add_loss_layers(model::Graph& graph,
                                         std::optional<Loss> asked,
                                         model::ValueId result,
                                         double share,
                                         std::optional<model::ValueId> scale = {});

}  // namespace plumb::rewrite
