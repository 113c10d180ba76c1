// SPDX-License-Identifier: Apache-2.0
#include "harness/session/host/user_paths.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "harness/base/error.hpp"

namespace plumb {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::filesystem::path data_folder() {
  if (const std::string data = variable("XDG_DATA_HOME"); !data.empty()) {
    return std::filesystem::path(data) / "plumb";
  }
  if (const std::string home = variable("HOME"); !home.empty()) {
    return std::filesystem::path(home) / ".local/share/plumb";
  }
  throw Error(Error::Kind::kEnvironment,
              "neither XDG_DATA_HOME nor HOME is set, so there is no place for the store: "
              "set one of them, or name a store with --store sqlite:PATH");
}

std::string default_store_url() {
  const std::string url = variable("PLUMB_STORE");
  return url.empty() ? "sqlite:" + (data_folder() / "store.db").string() : url;
}

std::filesystem::path executable_folder() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::current_path() : path.parent_path();
}

std::filesystem::path find_suite(const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path installed = executable_folder().parent_path() / "share/plumb/suites";
  const std::vector<fs::path> places{
      name, data_folder() / "suites" / (name + ".toml"), installed / (name + ".toml")};
  std::string looked;
  for (const fs::path& place : places) {
    std::error_code error;
    if (fs::is_regular_file(place, error)) {
      return place;
    }
    looked += fmt::format("\n  {}", place.string());
  }
  throw Error(Error::Kind::kUser,
              fmt::format("there is no suite '{}'; looked for{}\ngive the path of a .toml file, "
                          "such as suites/quick.toml",
                          name,
                          looked));
}

}  // namespace plumb
