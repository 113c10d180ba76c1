// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace plumb::cuda {

/// Loads the driver for previews (runners/cuda/preview), unless the machine has a driver. cuDNN
/// then also says what it would choose among the kernels that it compiles itself. Must be called
/// before cuDNN is loaded. Without the file nothing happens, and cuDNN says less.
void load_preview_driver(const std::filesystem::path& file);

/// Returns where the file lies: beside the running program.
[[nodiscard]] std::filesystem::path preview_driver_file();

/// Returns whether the process has the driver for previews in place of a real one.
[[nodiscard]] bool preview_driver_is_loaded();

}  // namespace plumb::cuda
