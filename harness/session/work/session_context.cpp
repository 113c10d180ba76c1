// SPDX-License-Identifier: Apache-2.0
#include "harness/session/work/session_context.hpp"

#include <filesystem>

namespace plumb::session {

model::Graph load_graph(const ModelSource& models,
                        const std::string& name,
                        const model::ReadOptions& options) {
  std::error_code error;
  if (std::filesystem::is_regular_file(name, error)) {
    return model::read_model(name, options);
  }
  return models.graph(name, options);
}

}  // namespace plumb::session
