// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <ostream>
#include <set>

#include "harness/model/onnx/onnx_reader.hpp"
#include "runners/onednn/onednn_backend.hpp"
#include "suites/zoo/zoo.hpp"

namespace plumb::zoo {

static void PrintTo(const Entry& entry, std::ostream* out) {
  *out << entry.name;
}

}  // namespace plumb::zoo

namespace plumb::onednn {
namespace {

class OnednnZoo : public testing::TestWithParam<zoo::Entry> {};

TEST_P(OnednnZoo, supports_every_layer_that_computes) {
  const std::unique_ptr<worker::Backend> backend = make_onednn_backend();
  std::set<std::string> asked;
  for (const model::Layer& layer : model::read_graph(GetParam().build(1)).layers) {
    if (layer.role == model::Layer::Role::kCompute && asked.insert(layer.key.text).second) {
      const results::Outcome outcome = backend->supports(layer.key);
      EXPECT_TRUE(outcome.ok()) << layer.name << ": " << layer.key.text << ": " << outcome.reason;
    }
  }
  EXPECT_FALSE(asked.empty());
}

INSTANTIATE_TEST_SUITE_P(Models,
                         OnednnZoo,
                         testing::ValuesIn(zoo::entries().begin(), zoo::entries().end()),
                         [](const testing::TestParamInfo<zoo::Entry>& row) {
                           std::string name(row.param.name);
                           std::erase_if(name, [](char c) { return c == '-' || c == '.'; });
                           return name;
                         });

}  // namespace
}  // namespace plumb::onednn
