// SPDX-License-Identifier: Apache-2.0
#include "harness/session/host/raw_folder.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <system_error>

#include "harness/base/error.hpp"

namespace plumb::session {

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
