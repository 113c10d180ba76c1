// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace onnx {
class ModelProto;
}

namespace plumb::zoo {

/// One built-in model.
///
/// Models are weight-free. A weight is an initializer with a name, a type and a shape but no data:
/// neither raw_data nor a typed field nor external data. Shape inference and this project's reader
/// take that as it is. A checker that insists on data, or a runtime, needs fill_weights() first.
struct Entry {
  /// Sizes that a model is built for: the batch, and an extent for each of its axes.
  struct Sizes {
    /// One size of a model that its users may vary, beside the batch.
    struct Axis {
      std::string_view name;      ///< "sequence"
      std::int64_t standard = 1;  ///< unless the user sets another
      std::int64_t least = 1;
      std::int64_t most = 1;
      std::int64_t step = 1;  ///< extents are multiples of it
    };

    std::int64_t batch = 1;
    std::map<std::string, std::int64_t, std::less<>> axes = {};

    /// Returns the extent of an axis that the model's row in zoo.cpp names.
    [[nodiscard]] std::int64_t operator[](std::string_view axis) const;
  };

  std::string_view name;    ///< "resnet50-v1"
  std::string_view task;    ///< "image classification"
  std::string_view source;  ///< paper and export it follows
  onnx::ModelProto (*builder)(const Sizes& sizes);
  std::span<const Sizes::Axis> axes = {};  ///< what may vary beside the batch
  std::string_view rounds = {};            ///< MLPerf rounds that it belongs to; empty: none
  std::string_view deviations =
      {};  ///< how it differs from the benchmark's model; empty: it does not

  /// Returns the extent of every axis: what `asked` sets, else its standard. Throws Error{kUser}
  /// for a name that is no axis of the model, naming the nearest one, and for an extent that the
  /// model cannot take.
  [[nodiscard]] Sizes sizes(std::int64_t batch,
                            const std::map<std::string, std::int64_t>& asked = {}) const;
  /// Builds the model for sizes(batch, asked).
  [[nodiscard]] onnx::ModelProto build(std::int64_t batch,
                                       const std::map<std::string, std::int64_t>& asked = {}) const;
};

/// Lists every built-in model, by name.
[[nodiscard]] std::span<const Entry> entries();

/// Finds a model by name; null if there is none.
[[nodiscard]] const Entry* find(std::string_view name);

/// Returns the name of the entry most like `name`, for error messages.
[[nodiscard]] std::string_view nearest_name(std::string_view name);

// Builders of the zoo, with one source file for each family of models. Each follows the export
// named beside its row in zoo.cpp: operators, biases, groups, pads and the exporter's quirks, node
// for node.
[[nodiscard]] onnx::ModelProto bvlc_alexnet(std::int64_t batch);
[[nodiscard]] onnx::ModelProto bvlc_caffenet(std::int64_t batch);
[[nodiscard]] onnx::ModelProto bvlc_rcnn_ilsvrc13(std::int64_t batch);
[[nodiscard]] onnx::ModelProto zfnet512(std::int64_t batch);
[[nodiscard]] onnx::ModelProto bert_base(const Entry::Sizes& sizes);
[[nodiscard]] onnx::ModelProto bert_base_packed(const Entry::Sizes& sizes);
[[nodiscard]] onnx::ModelProto bert_large(const Entry::Sizes& sizes);
[[nodiscard]] onnx::ModelProto arcface(std::int64_t batch);
[[nodiscard]] onnx::ModelProto densenet121(const Entry::Sizes& sizes);
[[nodiscard]] onnx::ModelProto duc(std::int64_t batch);
[[nodiscard]] onnx::ModelProto emotion_ferplus(std::int64_t batch);
[[nodiscard]] onnx::ModelProto bvlc_googlenet(std::int64_t batch);
[[nodiscard]] onnx::ModelProto inception_v1(std::int64_t batch);
[[nodiscard]] onnx::ModelProto inception_v2(std::int64_t batch);
[[nodiscard]] onnx::ModelProto lenet(std::int64_t batch);
[[nodiscard]] onnx::ModelProto mobilenet_v2(const Entry::Sizes& sizes);
[[nodiscard]] onnx::ModelProto shufflenet(std::int64_t batch);
[[nodiscard]] onnx::ModelProto squeezenet_1_1(std::int64_t batch);
[[nodiscard]] onnx::ModelProto tiny_yolo_v2(std::int64_t batch);

/// Builds ResNet of He et al. 2015 (arXiv 1512.03385, Table 1). `depth`: 18, 34, 50, 101 or 152.
[[nodiscard]] onnx::ModelProto resnet_v1(int depth, const Entry::Sizes& sizes);
/// Builds the pre-activation ResNet of He et al. 2016 (arXiv 1603.05027). Same depths.
[[nodiscard]] onnx::ModelProto resnet_v2(int depth, const Entry::Sizes& sizes);
/// Builds ResNet-50 with the stride on the 3×3 convolutions, as MLPerf and torchvision have it.
[[nodiscard]] onnx::ModelProto resnet50_v1_5(const Entry::Sizes& sizes);
/// Builds VGG of Simonyan and Zisserman (arXiv 1409.1556, Table 1 D and E). `depth`: 16 or 19.
[[nodiscard]] onnx::ModelProto vgg(int depth, bool batch_norm, std::int64_t batch);

/// Builds MLPerf's DLRM-DCNv2 (arXiv 1906.00091, 2008.13535) with tables of at most `rows` rows.
[[nodiscard]] onnx::ModelProto dlrm_dcnv2(const Entry::Sizes& sizes);
/// Builds MLPerf's RetinaNet (arXiv 1708.02002) on ResNeXt-50 32×4d: backbone, pyramid and heads.
[[nodiscard]] onnx::ModelProto retinanet(const Entry::Sizes& sizes);
/// Builds MLPerf's 3D-UNet (arXiv 1606.06650, 1809.10486) on one window.
[[nodiscard]] onnx::ModelProto unet3d(const Entry::Sizes& sizes);
/// Builds Llama 3.1 8B (arXiv 2407.21783, Table 3) for one of three uses. Prefill runs over a
/// prompt. Decode computes one more token behind a cache of `context` tokens. Training has the
/// logits of every token.
[[nodiscard]] onnx::ModelProto llama_8b_prefill(const Entry::Sizes& sizes);
[[nodiscard]] onnx::ModelProto llama_8b_decode(const Entry::Sizes& sizes);
[[nodiscard]] onnx::ModelProto llama_8b_training(const Entry::Sizes& sizes);

}  // namespace plumb::zoo
