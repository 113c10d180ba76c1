// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/exec/model_mode.hpp"

#include <fmt/format.h>

#include <string_view>

#include "harness/base/error.hpp"

namespace plumb::cuda {

std::string_view to_text(ModelMode mode) {
  switch (mode) {
    case ModelMode::kEager:
      return "eager";
    case ModelMode::kCaptured:
      return "captured";
    case ModelMode::kStreams:
      return "streams";
  }
  return "unknown";
}

ModelMode model_mode_from(const char* word) {
  const std::string_view text = word == nullptr ? "" : word;
  if (text.empty()) {
    return ModelMode::kCaptured;
  }
  for (const ModelMode mode : {ModelMode::kEager, ModelMode::kCaptured, ModelMode::kStreams}) {
    if (text == to_text(mode)) {
      return mode;
    }
  }
  throw Error(
      Error::Kind::kUser,
      fmt::format("PLUMB_CUDA_EXECUTION is '{}': set it to eager, captured or streams", text));
}

}  // namespace plumb::cuda
