// SPDX-License-Identifier: Apache-2.0
#include "harness/stacks/python_packages.hpp"

#include <string_view>

#include "harness/stacks/installer.hpp"

namespace plumb::stacks {
namespace {

constexpr std::string_view kName = "pytorch==";
constexpr std::string_view kProject = "torch==";

}  // namespace

std::vector<std::string> wheel_requirements(std::vector<std::string> packages) {
  bool with_torch = false;
  for (std::string& package : packages) {
    if (package.starts_with(kName)) {
      package.replace(0, kName.size(), kProject);
    }
    with_torch = with_torch || package.starts_with(kProject);
  }
  if (with_torch) {
    packages.insert(packages.end(), {"numpy", "onnx", "onnxscript", "protobuf"});
  }
  return packages;
}

std::map<std::string, std::string> python_variables(const std::filesystem::path& folder) {
  return {{"PLUMB_PYTHON",
           find_program("python3", "install python3, with which the worker is started")},
          {"PYTHONPATH", folder.string()}};
}

}  // namespace plumb::stacks
