// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include "harness/suite/suite.hpp"
#include "runners/onednn/onednn_backend.hpp"

namespace plumb::onednn {
namespace {

/// Asks for every layer that the shipped suites list: what the library has not, it says why.
TEST(ShippedShapes, are_supported_or_say_why_not) {
  const std::unique_ptr<worker::Backend> backend = make_onednn_backend();
  std::map<std::string, int> unsupported;
  for (const auto& entry : std::filesystem::directory_iterator(PLUMB_SHAPES)) {
    const std::string file = entry.path().filename().string();
    for (const suite::SuiteSpec::ShapesRow& row : suite::read_shapes(entry.path())) {
      const results::Outcome support = backend->supports(row.key);
      if (!support.ok()) {
        EXPECT_EQ(support.kind, results::Outcome::Kind::kUnsupported) << row.key.text;
        EXPECT_FALSE(support.reason.empty()) << row.key.text;
        ++unsupported[file + ": " + support.reason];
      }
      if (file.starts_with("deepbench")) {
        EXPECT_TRUE(support.ok()) << row.key.text << ": " << support.reason;
      }
    }
  }
  for (const auto& [reason, count] : unsupported) {
    std::cout << "  unsupported " << count << " × " << reason << '\n';
  }
}

}  // namespace
}  // namespace plumb::onednn
