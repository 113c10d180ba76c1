// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/engine/small_model.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <ostream>

#include "suites/zoo/zoo.hpp"

namespace plumb::engine {
namespace {

/// Makes the image of a model smaller, and with it the matrix behind its convolutions.
void shrink_image(onnx::ModelProto& file, std::int64_t side) {
  onnx::GraphProto& graph = *file.mutable_graph();
  onnx::TensorShapeProto& image =
      *graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  const std::int64_t before = image.dim(2).dim_value();
  image.mutable_dim(2)->set_dim_value(side);
  image.mutable_dim(3)->set_dim_value(side);
  graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  const auto product =
      std::find_if(graph.node().begin(), graph.node().end(), [](const onnx::NodeProto& node) {
        return node.op_type() == "Gemm";
      });
  if (product == graph.node().end()) {
    return;
  }
  for (onnx::TensorProto& weight : *graph.mutable_initializer()) {
    if (weight.name() == product->input(1)) {
      weight.set_dims(1, weight.dims(1) * side * side / (before * before));
    }
  }
}

}  // namespace

void PrintTo(const SmallModel& model, std::ostream* out) {
  *out << model.name;
}

std::vector<SmallModel> small_models() {
  std::vector<SmallModel> models{{"bert-base", 4, {{"sequence", 4}}}};
  for (const char* const name : {"bvlc-alexnet",
                                 "bvlc-caffenet",
                                 "bvlc-googlenet",
                                 "bvlc-rcnn-ilsvrc13",
                                 "emotion-ferplus",
                                 "inception-v1",
                                 "inception-v2",
                                 "lenet",
                                 "shufflenet",
                                 "squeezenet1.1",
                                 "tiny-yolo-v2",
                                 "zfnet512"}) {
    models.push_back({name});
  }
  for (const char* const name : {"densenet121",
                                 "mobilenet-v2",
                                 "resnet18-v1",
                                 "resnet18-v2",
                                 "resnet34-v1",
                                 "resnet34-v2",
                                 "resnet50-v1",
                                 "resnet50-v2",
                                 "resnet101-v1",
                                 "resnet101-v2",
                                 "resnet152-v1",
                                 "resnet152-v2"}) {
    models.push_back({name, 4, {{"image", 32}}});
  }
  for (const char* const name : {"duc", "vgg16", "vgg16-bn", "vgg19", "vgg19-bn"}) {
    models.push_back({name, 4, {}, 32});
  }
  models.push_back({"arcface", 4, {}, 16});
  return models;
}

std::string small_file(const SmallModel& model) {
  onnx::ModelProto file = zoo::find(model.name)->build(model.batch, model.dims);
  if (model.image != 0) {
    shrink_image(file, model.image);
  }
  return file.SerializeAsString();
}

}  // namespace plumb::engine
