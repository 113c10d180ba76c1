// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace plumb::stacks {

/// Backend of stacks that hold PyTorch.
inline constexpr const char* kPyTorchBackend = "pytorch";

/// Returns what is asked of the package index for packages ("NAME==VERSION"). "pytorch" is called
/// "torch" there. With it come the packages that its worker needs, in versions that fit it.
[[nodiscard]] std::vector<std::string> wheel_requirements(std::vector<std::string> packages);

/// Returns the variables with which a worker in Python finds the packages in a folder. They also
/// name the interpreter that the packages were fetched for.
[[nodiscard]] std::map<std::string, std::string> python_variables(
    const std::filesystem::path& folder);

}  // namespace plumb::stacks
