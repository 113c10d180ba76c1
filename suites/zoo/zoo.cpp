// SPDX-License-Identifier: Apache-2.0
#include "suites/zoo/zoo.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <array>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/name_match.hpp"

namespace plumb::zoo {
namespace {

/// Adapts a builder whose only size is the batch to the table.
template <onnx::ModelProto (*Build)(std::int64_t batch)>
onnx::ModelProto fixed(const Entry::Sizes& sizes) {
  return Build(sizes.batch);
}

/// The side of a square image, for models that end in a global pool.
constexpr std::array kImage224{
    Entry::Sizes::Axis{.name = "image", .standard = 224, .least = 32, .most = 4096, .step = 1}};
/// Length in tokens. The papers' position table has 512 rows; a longer sequence gets a longer
/// table.
constexpr std::array kSequence128{
    Entry::Sizes::Axis{.name = "sequence", .standard = 128, .least = 1, .most = 65536, .step = 1}};
constexpr std::array kPackedSequences{
    Entry::Sizes::Axis{.name = "sequence", .standard = 128, .least = 1, .most = 65536, .step = 1},
    Entry::Sizes::Axis{.name = "packed", .standard = 3, .most = 64}};
constexpr std::array kSequence384{
    Entry::Sizes::Axis{.name = "sequence", .standard = 384, .most = 65536}};
constexpr std::array kSequence2048{
    Entry::Sizes::Axis{.name = "sequence", .standard = 2048, .most = 131'072}};
constexpr std::array kSequence8192{
    Entry::Sizes::Axis{.name = "sequence", .standard = 8192, .most = 131'072}};
constexpr std::array kContext2048{
    Entry::Sizes::Axis{.name = "context", .standard = 2048, .most = 131'071}};
constexpr std::array kImage800{
    Entry::Sizes::Axis{.name = "image", .standard = 800, .least = 128, .most = 4096, .step = 32}};
constexpr std::array kWindow128{
    Entry::Sizes::Axis{.name = "image", .standard = 128, .least = 64, .most = 512, .step = 32}};
constexpr std::array kRows100000{
    Entry::Sizes::Axis{.name = "rows", .standard = 100'000, .least = 1, .most = 40'000'000}};

constexpr std::string_view kLlama =
    "arXiv 2407.21783, Table 3; PyTorch (transformers, eager attention) export, opset 17";
constexpr std::string_view kLlamaRounds = "inference v5.1 to v6.1";
constexpr std::string_view kLlamaDeviations =
    "the causal mask is an input; rotary frequencies are weights without values";

constexpr std::string_view kImages = "image classification";
constexpr std::string_view kResnetV1 = "arXiv 1512.03385; MXNet (GluonCV) export, opset 7";
constexpr std::string_view kResnetV2 = "arXiv 1603.05027; MXNet (GluonCV) export, opset 7";
constexpr std::string_view kVgg = "arXiv 1409.1556; MXNet (GluonCV) export, opset 7";

/// Models of the zoo, by name.
constexpr std::array kEntries{
    Entry{"3d-unet",
          "volume segmentation",
          "arXiv 1606.06650, 1809.10486 as mlcommons/training image_segmentation; PyTorch export, "
          "opset 17",
          unet3d,
          kWindow128,
          "inference v5.0 to v6.1; training before v5.0",
          "one window of the sliding 128³ windows; no overlap-and-add"},
    Entry{"arcface",
          "face recognition",
          "arXiv 1801.07698, LResNet100E-IR; MXNet export, opset 8",
          fixed<arcface>},
    Entry{"bert-base",
          "text encoding",
          "arXiv 1810.04805; PyTorch (transformers) export, opset 17",
          bert_base,
          kSequence128},
    Entry{"bert-base-packed",
          "text encoding",
          "arXiv 1810.04805, with several sequences a sample as in arXiv 2107.02027; opset 17",
          bert_base_packed,
          kPackedSequences},
    Entry{"bert-large",
          "question answering",
          "arXiv 1810.04805; PyTorch (transformers) export, opset 17",
          bert_large,
          kSequence384,
          "inference v5.0 to v6.1 (edge); training v5.0 (sequence 512)",
          "LayerNormalization is one node"},
    Entry{"bvlc-alexnet",
          kImages,
          "Krizhevsky et al. 2012; Caffe2 export, opset 9",
          fixed<bvlc_alexnet>},
    Entry{"bvlc-caffenet",
          kImages,
          "Krizhevsky et al. 2012, pooled first; Caffe2 export, opset 9",
          fixed<bvlc_caffenet>},
    Entry{"bvlc-googlenet",
          kImages,
          "arXiv 1409.4842; Caffe2 export, opset 9",
          fixed<bvlc_googlenet>},
    Entry{"bvlc-rcnn-ilsvrc13",
          "region classification",
          "arXiv 1311.2524; Caffe2 export, opset 9",
          fixed<bvlc_rcnn_ilsvrc13>},
    Entry{
        "densenet121", kImages, "arXiv 1608.06993; Caffe2 export, opset 9", densenet121, kImage224},
    Entry{"dlrm-dcnv2",
          "recommendation",
          "arXiv 1906.00091, 2008.13535 as mlcommons/training recommendation_v2; PyTorch export, "
          "opset 17",
          dlrm_dcnv2,
          kRows100000,
          "inference v5.0, v5.1; training v5.0 to v6.0",
          "tables are cut to 100,000 rows (dim.rows; the largest have 40,000,000): 8 of 26 are "
          "smaller"},
    Entry{"duc",
          "semantic segmentation",
          "arXiv 1702.08502, ResNet101-DUC-HDC; MXNet export, opset 7",
          fixed<duc>},
    Entry{"emotion-ferplus",
          "emotion recognition",
          "arXiv 1608.01041, VGG13; CNTK export, opset 8",
          fixed<emotion_ferplus>},
    Entry{"inception-v1", kImages, "arXiv 1409.4842; Caffe2 export, opset 9", fixed<inception_v1>},
    Entry{"inception-v2", kImages, "arXiv 1502.03167; Caffe2 export, opset 9", fixed<inception_v2>},
    Entry{"lenet", "digit recognition", "CNTK's MNIST model, opset 8", fixed<lenet>},
    Entry{"llama-3.1-8b-decode",
          "text generation, one token",
          kLlama,
          llama_8b_decode,
          kContext2048,
          kLlamaRounds,
          kLlamaDeviations},
    Entry{"llama-3.1-8b-prefill",
          "text generation, prompt",
          kLlama,
          llama_8b_prefill,
          kSequence2048,
          kLlamaRounds,
          kLlamaDeviations},
    Entry{"llama-3.1-8b-training",
          "language modelling",
          kLlama,
          llama_8b_training,
          kSequence8192,
          "training v5.1 to v6.1",
          "the forward pass alone, without its loss; the causal mask is an input"},
    Entry{"mobilenet-v2",
          kImages,
          "arXiv 1801.04381; MXNet (GluonCV) export, opset 7",
          mobilenet_v2,
          kImage224},
    Entry{"resnet101-v1",
          kImages,
          kResnetV1,
          [](const Entry::Sizes& sizes) { return resnet_v1(101, sizes); },
          kImage224},
    Entry{"resnet101-v2",
          kImages,
          kResnetV2,
          [](const Entry::Sizes& sizes) { return resnet_v2(101, sizes); },
          kImage224},
    Entry{"resnet152-v1",
          kImages,
          kResnetV1,
          [](const Entry::Sizes& sizes) { return resnet_v1(152, sizes); },
          kImage224},
    Entry{"resnet152-v2",
          kImages,
          kResnetV2,
          [](const Entry::Sizes& sizes) { return resnet_v2(152, sizes); },
          kImage224},
    Entry{"resnet18-v1",
          kImages,
          kResnetV1,
          [](const Entry::Sizes& sizes) { return resnet_v1(18, sizes); },
          kImage224},
    Entry{"resnet18-v2",
          kImages,
          kResnetV2,
          [](const Entry::Sizes& sizes) { return resnet_v2(18, sizes); },
          kImage224},
    Entry{"resnet34-v1",
          kImages,
          kResnetV1,
          [](const Entry::Sizes& sizes) { return resnet_v1(34, sizes); },
          kImage224},
    Entry{"resnet34-v2",
          kImages,
          kResnetV2,
          [](const Entry::Sizes& sizes) { return resnet_v2(34, sizes); },
          kImage224},
    Entry{"resnet50-v1",
          kImages,
          kResnetV1,
          [](const Entry::Sizes& sizes) { return resnet_v1(50, sizes); },
          kImage224},
    Entry{"resnet50-v1.5",
          kImages,
          "arXiv 1512.03385, stride on the 3×3 convolution; PyTorch (torchvision) export, opset 17",
          resnet50_v1_5,
          kImage224,
          "inference v5.0 to v6.1 (edge; datacenter to v5.0)",
          "BatchNormalization is kept, where the exporter folds it by default"},
    Entry{"resnet50-v2",
          kImages,
          kResnetV2,
          [](const Entry::Sizes& sizes) { return resnet_v2(50, sizes); },
          kImage224},
    Entry{"retinanet-resnext50",
          "object detection",
          "arXiv 1708.02002, 1612.03144, 1611.05431 as mlcommons/training single_stage_detector; "
          "PyTorch export, opset 17",
          retinanet,
          kImage800,
          "inference v5.0, v5.1; training v5.0, v5.1",
          "from the normalised image to logits and box offsets: no decoding, no suppression"},
    Entry{"shufflenet",
          kImages,
          "arXiv 1707.01083, 4 groups; Caffe2 export, opset 9",
          fixed<shufflenet>},
    Entry{"squeezenet1.1",
          kImages,
          "arXiv 1602.07360, v1.1; MXNet (GluonCV) export, opset 7",
          fixed<squeezenet_1_1>},
    Entry{"tiny-yolo-v2",
          "object detection",
          "arXiv 1612.08242, tiny; Core ML export, opset 8",
          fixed<tiny_yolo_v2>},
    Entry{"vgg16",
          kImages,
          kVgg,
          [](const Entry::Sizes& sizes) { return vgg(16, false, sizes.batch); }},
    Entry{"vgg16-bn",
          kImages,
          kVgg,
          [](const Entry::Sizes& sizes) { return vgg(16, true, sizes.batch); }},
    Entry{"vgg19",
          kImages,
          kVgg,
          [](const Entry::Sizes& sizes) { return vgg(19, false, sizes.batch); }},
    Entry{"vgg19-bn",
          kImages,
          kVgg,
          [](const Entry::Sizes& sizes) { return vgg(19, true, sizes.batch); }},
    Entry{"zfnet512",
          kImages,
          "arXiv 1311.2901, 512 filters; Caffe2 export, opset 9",
          fixed<zfnet512>},
};

}  // namespace

std::span<const Entry> entries() {
  return kEntries;
}

namespace {

/// Limit of the batch: more images than any machine of today holds. Products of sizes stay far from
/// 2^63.
constexpr std::int64_t kMaximumBatch = 1'000'000;

[[noreturn]] void fail_unknown(const Entry& entry, const std::string& axis) {
  std::vector<std::string_view> names;
  for (const Entry::Sizes::Axis& known : entry.axes) {
    names.push_back(known.name);
  }
  throw Error(Error::Kind::kUser,
              names.empty()
                  ? fmt::format("model '{}' has no axis '{}': only its batch varies",
                                entry.name,
                                axis.substr(0, 64))
                  : fmt::format("model '{}' has no axis '{}'; did you mean '{}'?",
                                entry.name,
                                axis.substr(0, 64),
                                plumb::nearest_name(axis, names).value_or(std::string_view{})));
}

void check_extent(const Entry& entry, const Entry::Sizes::Axis& axis, std::int64_t extent) {
  if (extent < axis.least || extent > axis.most || extent % axis.step != 0) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' of model '{}' is {}; it must be from {} to {}{}",
                            axis.name,
                            entry.name,
                            extent,
                            axis.least,
                            axis.most,
                            axis.step == 1 ? "" : fmt::format(" and a multiple of {}", axis.step)));
  }
}

}  // namespace

std::int64_t Entry::Sizes::operator[](std::string_view axis) const {
  const auto found = axes.find(axis);
  PLUMB_CHECK(found != axes.end());
  return found->second;
}

Entry::Sizes Entry::sizes(std::int64_t batch,
                          const std::map<std::string, std::int64_t>& asked) const {
  check_extent(*this, Entry::Sizes::Axis{.name = "batch", .most = kMaximumBatch}, batch);
  Entry::Sizes result{.batch = batch};
  for (const Entry::Sizes::Axis& axis : axes) {
    result.axes.emplace(axis.name, axis.standard);
  }
  for (const auto& [asked_name, extent] : asked) {
    const Entry::Sizes::Axis* axis = nullptr;
    for (const Entry::Sizes::Axis& known : axes) {
      axis = known.name == asked_name ? &known : axis;
    }
    if (axis == nullptr) {
      fail_unknown(*this, asked_name);
    }
    check_extent(*this, *axis, extent);
    result.axes.insert_or_assign(asked_name, extent);
  }
  return result;
}

onnx::ModelProto Entry::build(std::int64_t batch,
                              const std::map<std::string, std::int64_t>& asked) const {
  return builder(sizes(batch, asked));
}

const Entry* find(std::string_view name) {
  for (const Entry& entry : entries()) {
    if (entry.name == name) {
      return &entry;
    }
  }
  return nullptr;
}

std::string_view nearest_name(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries()) {
    names.push_back(entry.name);
  }
  return plumb::nearest_name(name, names).value_or(std::string_view{});
}

}  // namespace plumb::zoo
