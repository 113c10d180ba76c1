// SPDX-License-Identifier: Apache-2.0
#include "harness/session/host/user_paths.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::session {
namespace {

std::string variable(const char* name) {
  return environment_variable(name).value_or("");
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::optional<std::filesystem::path> known_data_folder() {
  if (const std::string data = variable("XDG_DATA_HOME"); !data.empty()) {
    return std::filesystem::path(data) / "plumb";
  }
  if (const std::string home = variable("HOME"); !home.empty()) {
    return std::filesystem::path(home) / ".local/share/plumb";
  }
  return std::nullopt;
}

std::filesystem::path data_folder() {
  if (std::optional<std::filesystem::path> folder = known_data_folder()) {
    return *std::move(folder);
  }
  throw Error(Error::Kind::kEnvironment,
              "neither XDG_DATA_HOME nor HOME is set, so there is no place for the store: "
              "set one of them, or name a store with --store sqlite:PATH");
}

std::optional<std::filesystem::path> spool_folder() {
  const std::optional<std::filesystem::path> folder = known_data_folder();
  return folder ? std::optional(*folder / "spool") : std::nullopt;
}

std::filesystem::path cache_folder() {
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) {
    return std::filesystem::path(cache) / "plumb";
  }
  if (const std::string home = variable("HOME"); !home.empty()) {
    return std::filesystem::path(home) / ".cache/plumb";
  }
  throw Error(Error::Kind::kEnvironment,
              "neither XDG_CACHE_HOME nor HOME is set, so there is no place for builds: set one of "
              "them");
}

std::string default_store_url() {
  const std::string url = variable("PLUMB_STORE");
  return url.empty() ? "sqlite:" + (data_folder() / "store.db").string() : url;
}

std::string user_name() {
  const passwd* const user = ::getpwuid(::geteuid());
  return user == nullptr ? "uid " + std::to_string(::geteuid()) : std::string(user->pw_name);
}

std::filesystem::path executable_folder() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::current_path() : path.parent_path();
}

std::filesystem::path find_suite(const std::string& name) {
  namespace fs = std::filesystem;
  std::vector<fs::path> places{name};
  if (!name.ends_with(".toml")) {
    if (const std::optional<fs::path> data = known_data_folder()) {
      places.push_back(*data / "suites" / (name + ".toml"));
    }
    places.push_back(executable_folder().parent_path() / "share/plumb/suites" / (name + ".toml"));
  }
  std::vector<std::string> looked;
  for (const fs::path& place : places) {
    std::error_code error;
    if (fs::is_regular_file(place, error)) {
      return place;
    }
    looked.push_back(fmt::format("'{}'", place.string()));
  }
  throw Error(Error::Kind::kUser,
              fmt::format("there is no suite '{}'; looked for {}; give the path of a .toml file, "
                          "such as suites/quick.toml",
                          name,
                          fmt::join(looked, ", ")));
}

RawFolder::RawFolder(const std::string& named) : kept_(!named.empty()) {
  if (kept_) {
    path_ = std::filesystem::absolute(named);
    std::error_code fault;
    std::filesystem::create_directories(path_, fault);
    if (fault) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("cannot make the folder '{}': {}", named, fault.message()));
    }
    return;
  }
  std::string name = (std::filesystem::temp_directory_path() / "plumb-trace-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot make a folder like '{}': check its permissions", name));
  }
  path_ = name;
}

RawFolder::~RawFolder() {
  if (!kept_) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

}  // namespace plumb::session
