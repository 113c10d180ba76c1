// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace plumb::cuda {

/// Ways to execute a whole model on the GPU. It runs launch after launch, as one captured graph, or
/// as one captured graph in which independent branches run on streams of their own.
enum class ModelMode { kEager, kCaptured, kStreams };

[[nodiscard]] std::string_view to_text(ModelMode mode);  ///< "eager", "captured", "streams"

/// Reads the value of a stack's variable PLUMB_CUDA_EXECUTION. Null and the empty text are
/// kCaptured. Throws Error{kUser} listing the words there are.
[[nodiscard]] ModelMode model_mode_from(const char* word);

}  // namespace plumb::cuda
