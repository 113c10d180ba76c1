// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace plumb::analysis {

/// What switches an option of a mode on outside of Plumbline.
struct ModeSetting {
  std::string_view option;     ///< word of the mode: "bf16"
  std::string_view framework;  ///< "oneDNN", "cuDNN", "ONNX Runtime", "PyTorch"
  std::string_view setting;    ///< a call, an option or a variable
};

/// Returns the settings of a mode's options. A framework that has none for an option is not listed.
[[nodiscard]] std::vector<ModeSetting> settings_of(std::string_view execution_mode);

}  // namespace plumb::analysis
