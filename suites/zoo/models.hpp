// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "suites/zoo/sizes.hpp"

namespace onnx {
class ModelProto;
}

/// Builders of the zoo, with one source file for each family of models. Each follows the export
/// named beside its row in zoo.cpp: operators, biases, groups, pads and the exporter's quirks, node
/// for node.
namespace plumb::zoo {

[[nodiscard]] onnx::ModelProto bvlc_alexnet(std::int64_t batch);
[[nodiscard]] onnx::ModelProto bvlc_caffenet(std::int64_t batch);
[[nodiscard]] onnx::ModelProto bvlc_rcnn_ilsvrc13(std::int64_t batch);
[[nodiscard]] onnx::ModelProto zfnet512(std::int64_t batch);
[[nodiscard]] onnx::ModelProto bert_base(const Sizes& sizes);
[[nodiscard]] onnx::ModelProto bert_base_packed(const Sizes& sizes);
[[nodiscard]] onnx::ModelProto bert_large(const Sizes& sizes);
[[nodiscard]] onnx::ModelProto arcface(std::int64_t batch);
[[nodiscard]] onnx::ModelProto densenet121(const Sizes& sizes);
[[nodiscard]] onnx::ModelProto duc(std::int64_t batch);
[[nodiscard]] onnx::ModelProto emotion_ferplus(std::int64_t batch);
[[nodiscard]] onnx::ModelProto bvlc_googlenet(std::int64_t batch);
[[nodiscard]] onnx::ModelProto inception_v1(std::int64_t batch);
[[nodiscard]] onnx::ModelProto inception_v2(std::int64_t batch);
[[nodiscard]] onnx::ModelProto lenet(std::int64_t batch);
[[nodiscard]] onnx::ModelProto mobilenet_v2(const Sizes& sizes);
[[nodiscard]] onnx::ModelProto shufflenet(std::int64_t batch);
[[nodiscard]] onnx::ModelProto squeezenet_1_1(std::int64_t batch);
[[nodiscard]] onnx::ModelProto tiny_yolo_v2(std::int64_t batch);

/// Builds ResNet of He et al. 2015 (arXiv 1512.03385, Table 1). `depth`: 18, 34, 50, 101 or 152.
[[nodiscard]] onnx::ModelProto resnet_v1(int depth, const Sizes& sizes);
/// Builds the pre-activation ResNet of He et al. 2016 (arXiv 1603.05027). Same depths.
[[nodiscard]] onnx::ModelProto resnet_v2(int depth, const Sizes& sizes);
/// Builds ResNet-50 with the stride on the 3×3 convolutions, as MLPerf and torchvision have it.
[[nodiscard]] onnx::ModelProto resnet50_v1_5(const Sizes& sizes);
/// Builds VGG of Simonyan and Zisserman (arXiv 1409.1556, Table 1 D and E). `depth`: 16 or 19.
[[nodiscard]] onnx::ModelProto vgg(int depth, bool batch_norm, std::int64_t batch);

/// Builds MLPerf's DLRM-DCNv2 (arXiv 1906.00091, 2008.13535) with tables of at most `rows` rows.
[[nodiscard]] onnx::ModelProto dlrm_dcnv2(const Sizes& sizes);
/// Builds MLPerf's RetinaNet (arXiv 1708.02002) on ResNeXt-50 32×4d: backbone, pyramid and heads.
[[nodiscard]] onnx::ModelProto retinanet(const Sizes& sizes);
/// Builds MLPerf's 3D-UNet (arXiv 1606.06650, 1809.10486) on one window.
[[nodiscard]] onnx::ModelProto unet3d(const Sizes& sizes);
/// Builds Llama 3.1 8B (arXiv 2407.21783, Table 3) for one of three uses. Prefill runs over a
/// prompt. Decode computes one more token behind a cache of `context` tokens. Training has the
/// logits of every token.
[[nodiscard]] onnx::ModelProto llama_8b_prefill(const Sizes& sizes);
[[nodiscard]] onnx::ModelProto llama_8b_decode(const Sizes& sizes);
[[nodiscard]] onnx::ModelProto llama_8b_training(const Sizes& sizes);

}  // namespace plumb::zoo
