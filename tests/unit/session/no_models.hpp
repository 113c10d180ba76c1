// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "harness/base/error.hpp"
#include "harness/session/work/session_context.hpp"

namespace plumb::session {

/// Source without built-in models.
class NoModels final : public ModelSource {
 public:
  [[nodiscard]] std::map<std::string, std::int64_t> axes(const std::string& name,
                                                         const model::ReadOptions&) const override {
    refuse(name);
  }
  [[nodiscard]] model::Graph graph(const std::string& name,
                                   const model::ReadOptions&) const override {
    refuse(name);
  }
  [[nodiscard]] std::string onnx(const std::string& name,
                                 const model::ReadOptions&) const override {
    refuse(name);
  }

 private:
  [[noreturn]] static void refuse(const std::string& name) {
    throw Error(Error::Kind::kUser, "there is no model '" + name + "'");
  }
};

}  // namespace plumb::session
