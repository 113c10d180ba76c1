// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/model/onnx/onnx_reader.hpp"

namespace plumb::model {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNodeModels = "/usr/share/libonnx-testdata/data/node";

/// Reads every one-operator model of ONNX's own test suite, as Debian ships it: each is keyed or
/// says why not, and each key parses back to what it was made from. Only a shape that the model
/// itself leaves open may be refused.
TEST(NodeModels, are_all_read) {
  if (!fs::is_directory(kNodeModels)) {
    GTEST_SKIP() << "libonnx-testdata is not installed";
  }
  int keyed = 0;
  int unsupported = 0;
  int open = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(kNodeModels)) {
    const fs::path path = entry.path() / "model.onnx";
    if (!fs::is_regular_file(path)) {
      continue;
    }
    try {
      bool complete = true;
      for (const Layer& layer : read_model(path).layers) {
        complete = complete && layer.role != Layer::Role::kUnsupported;
        EXPECT_EQ(layer.role == Layer::Role::kUnsupported, !layer.reason.empty()) << path;
        if (!layer.key.text.empty()) {
          EXPECT_EQ(parse_key(layer.key), layer.spec) << path << '\n' << layer.key.text;
        }
      }
      ++(complete ? keyed : unsupported);
    } catch (const Error& error) {
      ++open;
      EXPECT_NE(std::string_view(error.what()).find("is open: bind it"), std::string_view::npos)
          << error.what();
    }
  }
  std::cout << "node models: " << keyed << " keyed, " << unsupported << " unsupported, " << open
            << " with open shapes\n";
  EXPECT_GE(keyed, 400);
}

}  // namespace
}  // namespace plumb::model
