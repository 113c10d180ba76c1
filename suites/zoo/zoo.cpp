// SPDX-License-Identifier: Apache-2.0
#include "suites/zoo/zoo.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <array>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/nearest_name.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
namespace {

/// Fits a builder whose only size is the batch into the table.
template <onnx::ModelProto (*Build)(std::int64_t batch)>
onnx::ModelProto fixed(const Sizes& sizes) {
  return Build(sizes.batch);
}

/// The side of a square image, for models that end in a global pool.
constexpr std::array kImage224{
    Axis{.name = "image", .standard = 224, .least = 32, .most = 4096, .step = 1}};
/// Tokens. The papers' position table has 512 rows; a longer sequence gets a longer table.
constexpr std::array kSequence128{
    Axis{.name = "sequence", .standard = 128, .least = 1, .most = 65536, .step = 1}};

constexpr std::string_view kImages = "image classification";
constexpr std::string_view kResnetV1 = "arXiv 1512.03385; MXNet (GluonCV) export, opset 7";
constexpr std::string_view kResnetV2 = "arXiv 1603.05027; MXNet (GluonCV) export, opset 7";
constexpr std::string_view kVgg = "arXiv 1409.1556; MXNet (GluonCV) export, opset 7";

/// One row a model, by name.
constexpr std::array kEntries{
    Entry{"bert-base",
          "text encoding",
          "arXiv 1810.04805; PyTorch (transformers) export, opset 17",
          bert_base,
          kSequence128},
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
    Entry{"inception-v1", kImages, "arXiv 1409.4842; Caffe2 export, opset 9", fixed<inception_v1>},
    Entry{"lenet", "digit recognition", "CNTK's MNIST model, opset 8", fixed<lenet>},
    Entry{"mobilenet-v2",
          kImages,
          "arXiv 1801.04381; MXNet (GluonCV) export, opset 7",
          mobilenet_v2,
          kImage224},
    Entry{"resnet101-v1",
          kImages,
          kResnetV1,
          [](const Sizes& sizes) { return resnet_v1(101, sizes); },
          kImage224},
    Entry{"resnet101-v2",
          kImages,
          kResnetV2,
          [](const Sizes& sizes) { return resnet_v2(101, sizes); },
          kImage224},
    Entry{"resnet152-v1",
          kImages,
          kResnetV1,
          [](const Sizes& sizes) { return resnet_v1(152, sizes); },
          kImage224},
    Entry{"resnet152-v2",
          kImages,
          kResnetV2,
          [](const Sizes& sizes) { return resnet_v2(152, sizes); },
          kImage224},
    Entry{"resnet18-v1",
          kImages,
          kResnetV1,
          [](const Sizes& sizes) { return resnet_v1(18, sizes); },
          kImage224},
    Entry{"resnet18-v2",
          kImages,
          kResnetV2,
          [](const Sizes& sizes) { return resnet_v2(18, sizes); },
          kImage224},
    Entry{"resnet34-v1",
          kImages,
          kResnetV1,
          [](const Sizes& sizes) { return resnet_v1(34, sizes); },
          kImage224},
    Entry{"resnet34-v2",
          kImages,
          kResnetV2,
          [](const Sizes& sizes) { return resnet_v2(34, sizes); },
          kImage224},
    Entry{"resnet50-v1",
          kImages,
          kResnetV1,
          [](const Sizes& sizes) { return resnet_v1(50, sizes); },
          kImage224},
    Entry{"resnet50-v2",
          kImages,
          kResnetV2,
          [](const Sizes& sizes) { return resnet_v2(50, sizes); },
          kImage224},
    Entry{"squeezenet1.1",
          kImages,
          "arXiv 1602.07360, v1.1; MXNet (GluonCV) export, opset 7",
          fixed<squeezenet_1_1>},
    Entry{"vgg16", kImages, kVgg, [](const Sizes& sizes) { return vgg(16, false, sizes.batch); }},
    Entry{"vgg16-bn", kImages, kVgg, [](const Sizes& sizes) { return vgg(16, true, sizes.batch); }},
    Entry{"vgg19", kImages, kVgg, [](const Sizes& sizes) { return vgg(19, false, sizes.batch); }},
    Entry{"vgg19-bn", kImages, kVgg, [](const Sizes& sizes) { return vgg(19, true, sizes.batch); }},
    Entry{"zfnet512",
          kImages,
          "arXiv 1311.2901, 512 filters; Caffe2 export, opset 9",
          fixed<zfnet512>},
};

/// More images than any machine of today holds; keeps products of sizes far from 2^63.
constexpr std::int64_t kMaximumBatch = 1'000'000;

[[noreturn]] void fail_unknown(const Entry& entry, const std::string& axis) {
  std::vector<std::string_view> names;
  for (const Axis& known : entry.axes) {
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

void check_extent(const Entry& entry, const Axis& axis, std::int64_t extent) {
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

std::int64_t Sizes::operator[](std::string_view axis) const {
  const auto found = axes.find(axis);
  PLUMB_CHECK(found != axes.end());
  return found->second;
}

Sizes Entry::sizes(std::int64_t batch, const std::map<std::string, std::int64_t>& asked) const {
  check_extent(*this, Axis{.name = "batch", .most = kMaximumBatch}, batch);
  Sizes result{.batch = batch};
  for (const Axis& axis : axes) {
    result.axes.emplace(axis.name, axis.standard);
  }
  for (const auto& [asked_name, extent] : asked) {
    const Axis* axis = nullptr;
    for (const Axis& known : axes) {
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
