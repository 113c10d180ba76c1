// SPDX-License-Identifier: Apache-2.0
#include "suites/zoo/zoo.hpp"

#include <onnx/onnx_pb.h>

#include <array>
#include <vector>

#include "harness/base/nearest_name.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
namespace {

using Batch = std::int64_t;

constexpr std::string_view kImages = "image classification";
constexpr std::string_view kResnetV1 = "arXiv 1512.03385; MXNet (GluonCV) export, opset 7";
constexpr std::string_view kResnetV2 = "arXiv 1603.05027; MXNet (GluonCV) export, opset 7";
constexpr std::string_view kVgg = "arXiv 1409.1556; MXNet (GluonCV) export, opset 7";

/// One row a model, by name.
constexpr std::array kEntries{
    Entry{"bert-base",
          "text encoding, sequence 128",
          "arXiv 1810.04805; PyTorch (transformers) export, opset 17",
          bert_base},
    Entry{"bvlc-alexnet", kImages, "Krizhevsky et al. 2012; Caffe2 export, opset 9", bvlc_alexnet},
    Entry{"bvlc-caffenet",
          kImages,
          "Krizhevsky et al. 2012, pooled first; Caffe2 export, opset 9",
          bvlc_caffenet},
    Entry{"bvlc-googlenet", kImages, "arXiv 1409.4842; Caffe2 export, opset 9", bvlc_googlenet},
    Entry{"bvlc-rcnn-ilsvrc13",
          "region classification",
          "arXiv 1311.2524; Caffe2 export, opset 9",
          bvlc_rcnn_ilsvrc13},
    Entry{"densenet121", kImages, "arXiv 1608.06993; Caffe2 export, opset 9", densenet121},
    Entry{"inception-v1", kImages, "arXiv 1409.4842; Caffe2 export, opset 9", inception_v1},
    Entry{"lenet", "digit recognition", "CNTK's MNIST model, opset 8", lenet},
    Entry{
        "mobilenet-v2", kImages, "arXiv 1801.04381; MXNet (GluonCV) export, opset 7", mobilenet_v2},
    Entry{"resnet101-v1", kImages, kResnetV1, [](Batch batch) { return resnet_v1(101, batch); }},
    Entry{"resnet101-v2", kImages, kResnetV2, [](Batch batch) { return resnet_v2(101, batch); }},
    Entry{"resnet152-v1", kImages, kResnetV1, [](Batch batch) { return resnet_v1(152, batch); }},
    Entry{"resnet152-v2", kImages, kResnetV2, [](Batch batch) { return resnet_v2(152, batch); }},
    Entry{"resnet18-v1", kImages, kResnetV1, [](Batch batch) { return resnet_v1(18, batch); }},
    Entry{"resnet18-v2", kImages, kResnetV2, [](Batch batch) { return resnet_v2(18, batch); }},
    Entry{"resnet34-v1", kImages, kResnetV1, [](Batch batch) { return resnet_v1(34, batch); }},
    Entry{"resnet34-v2", kImages, kResnetV2, [](Batch batch) { return resnet_v2(34, batch); }},
    Entry{"resnet50-v1", kImages, kResnetV1, [](Batch batch) { return resnet_v1(50, batch); }},
    Entry{"resnet50-v2", kImages, kResnetV2, [](Batch batch) { return resnet_v2(50, batch); }},
    Entry{"squeezenet1.1",
          kImages,
          "arXiv 1602.07360, v1.1; MXNet (GluonCV) export, opset 7",
          squeezenet_1_1},
    Entry{"vgg16", kImages, kVgg, [](Batch batch) { return vgg(16, false, batch); }},
    Entry{"vgg16-bn", kImages, kVgg, [](Batch batch) { return vgg(16, true, batch); }},
    Entry{"vgg19", kImages, kVgg, [](Batch batch) { return vgg(19, false, batch); }},
    Entry{"vgg19-bn", kImages, kVgg, [](Batch batch) { return vgg(19, true, batch); }},
    Entry{"zfnet512", kImages, "arXiv 1311.2901, 512 filters; Caffe2 export, opset 9", zfnet512},
};

}  // namespace

std::span<const Entry> entries() {
  return kEntries;
}

const Entry* find(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name) {
      return &entry;
    }
  }
  return nullptr;
}

std::string_view nearest_name(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Entry& entry : kEntries) {
    names.push_back(entry.name);
  }
  return plumb::nearest_name(name, names).value_or(std::string_view{});
}

}  // namespace plumb::zoo
