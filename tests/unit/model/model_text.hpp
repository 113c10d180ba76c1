// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "harness/model/onnx/onnx_reader.hpp"

namespace plumb::test {

/// Builds the graph of a model in ONNX's text syntax: `text` is the graph, `opset` of the default
/// domain.
[[nodiscard]] model::Graph graph_of_text(std::string_view text,
                                         int opset = 17,
                                         const model::ReadOptions& options = {});

/// Returns the key of the only layer of such a model.
[[nodiscard]] std::string key_of_text(std::string_view text, int opset = 17);

/// Returns what the reader's Error{kUser} says; "no error" if it accepts the model.
[[nodiscard]] std::string error_of_text(std::string_view text,
                                        int opset = 17,
                                        const model::ReadOptions& options = {});

}  // namespace plumb::test
