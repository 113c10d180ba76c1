// SPDX-License-Identifier: Apache-2.0
//
// Feeds any bytes to the ONNX reader, as a binary model in memory. A model is read or refused with
// an Error{kUser}; a key that comes of it must parse back to what it was made from.
#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "harness/base/error.hpp"
#include "harness/model/onnx/onnx_reader.hpp"

namespace plumb::model {
namespace {

void check_keys(const Graph& graph) {
  for (const Layer& layer : graph.layers) {
    if (!layer.key.text.empty() && to_key(parse_key(layer.key)) != layer.key) {
      std::abort();
    }
  }
}

}  // namespace
}  // namespace plumb::model

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  onnx::ModelProto model;
  if (!model.ParseFromArray(data, static_cast<int>(size))) {
    return 0;
  }
  plumb::model::Graph graph;
  try {
    graph = plumb::model::read_graph(std::move(model));
  } catch (const plumb::Error& error) {
    if (error.kind() != plumb::Error::Kind::kUser) {
      std::abort();
    }
    return 0;
  }
  plumb::model::check_keys(graph);
  return 0;
}
