// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "harness/base/digest.hpp"
#include "harness/stacks/package_source.hpp"

namespace plumb::stacks {
namespace {

constexpr std::string_view kName = "pytorch==";
constexpr std::string_view kProject = "torch==";

}  // namespace

namespace fs = std::filesystem;

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

std::vector<std::string> unpack_wheels(const std::vector<std::string>& packages,
                                       bool dependencies,
                                       const UnpackTarget& target,
                                       const LineSink& log) {
  const auto quiet = [](const std::string&) {};
  const fs::path venv = target.scratch / "venv";
  const fs::path downloads = target.scratch / "wheels";
  run_installer(find_program("python3", "install python3 and python3-venv, which fetch the wheels"),
                {"-m", "venv", venv.string()},
                quiet,
                Error::Kind::kEnvironment,
                "python3 cannot make the environment that fetches wheels: install python3-venv");
  const std::string python = (venv / "bin/python3").string();
  std::vector<std::string> arguments{"-m",
                                     "pip",
                                     "--disable-pip-version-check",
                                     "--no-input",
                                     "download",
                                     "--progress-bar=off",
                                     "--only-binary=:all:",
                                     "--dest",
                                     downloads.string()};
  if (!dependencies) {
    arguments.emplace_back("--no-deps");
  }
  arguments.insert(arguments.end(), packages.begin(), packages.end());
  run_installer(
      python,
      arguments,
      log,
      Error::Kind::kUser,
      fmt::format(
          "could not fetch {}: check that the version exists and has a wheel for this machine",
          fmt::join(packages, ", ")));
  std::vector<std::string> wheels;
  for (const fs::directory_entry& wheel : fs::directory_iterator(downloads)) {
    wheels.push_back(sha256_of_file(wheel.path()) + " " + wheel.path().filename().string());
    run_installer(python,
                  {"-m", "zipfile", "-e", wheel.path().string(), target.content.string()},
                  quiet,
                  Error::Kind::kEnvironment,
                  fmt::format("cannot unpack '{}': check the space on the disk",
                              wheel.path().filename().string()));
  }
  return wheels;
}

}  // namespace plumb::stacks
