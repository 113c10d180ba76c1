// SPDX-License-Identifier: Apache-2.0
#include "harness/session/zoo/zoo_models.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "harness/base/error.hpp"
#include "harness/session/host/model_export.hpp"
#include "suites/zoo/zoo.hpp"

namespace plumb::session {
namespace {

bool looks_like_a_file(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".onnx");
}

const zoo::Entry& find_entry(const std::string& name) {
  const zoo::Entry* const entry = zoo::find(name);
  if (entry == nullptr && parse_model_code(name)) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("'{}' is a function of a Python file, whose code runs only where you name "
                    "it with --model or MODEL and a stack that can run it: plumb run, "
                    "qualify, bisect, trace, baseline set --runs and model show",
                    name));
  }
  if (entry == nullptr && looks_like_a_file(name)) {
    throw Error(Error::Kind::kUser,
                fmt::format("there is no file '{}': check its path; for a built-in model give a "
                            "name that `plumb model list` shows",
                            name));
  }
  if (entry == nullptr) {
    throw Error(
        Error::Kind::kUser,
        fmt::format(
            "there is no model '{}': neither a file nor a built-in name; did you mean '{}'? "
            "(`plumb model list` shows all)",
            name,
            zoo::nearest_name(name)));
  }
  return *entry;
}

}  // namespace

onnx::ModelProto build_zoo_model(const std::string& name, const model::ReadOptions& options) {
  return find_entry(name).build(options.batch.value_or(1), options.dims);
}

namespace {

class ZooModels final : public ModelSource {
 public:
  [[nodiscard]] std::map<std::string, std::int64_t> axes(
      const std::string& name, const model::ReadOptions& options) const override {
    const zoo::Entry::Sizes sizes = find_entry(name).sizes(options.batch.value_or(1), options.dims);
    return {sizes.axes.begin(), sizes.axes.end()};
  }
  [[nodiscard]] model::Graph graph(const std::string& name,
                                   const model::ReadOptions& options) const override {
    model::Graph graph = model::read_graph(build_zoo_model(name, options));
    graph.name = name;
    return graph;
  }
  [[nodiscard]] std::string onnx(const std::string& name,
                                 const model::ReadOptions& options) const override {
    return build_zoo_model(name, options).SerializeAsString();
  }
};

}  // namespace

const ModelSource& zoo_models() {
  static const ZooModels models;
  return models;
}

}  // namespace plumb::session
