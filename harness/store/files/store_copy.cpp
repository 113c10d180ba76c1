// SPDX-License-Identifier: Apache-2.0
#include "harness/store/files/store_copy.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::store {
namespace {

namespace fs = std::filesystem;

fs::path log_of(fs::path store) {
  store += "-wal";
  return store;
}

std::pair<std::uintmax_t, fs::file_time_type> read_state(const fs::path& file) {
  return {fs::file_size(file), fs::last_write_time(file)};
}

}  // namespace

StoreCopy::StoreCopy(const fs::path& store) {
  std::error_code failure;
  std::string name = (fs::temp_directory_path(failure) / "plumb-store-XXXXXX").string();
  if (failure || ::mkdtemp(name.data()) == nullptr) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot make a temporary folder '{}' to read the store '{}' from: {}; "
                            "set TMPDIR to a folder that may be written",
                            name,
                            store.string(),
                            failure ? failure.message() : std::strerror(errno)));
  }
  folder_ = name;
  try {
    copy(store);
  } catch (const fs::filesystem_error& error) {
    fs::remove_all(folder_, failure);
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot copy the store '{}', whose folder cannot be written, to read "
                            "its log: {}; free some space, or set TMPDIR to a folder that has it",
                            store.string(),
                            error.code().message()));
  } catch (...) {
    fs::remove_all(folder_, failure);
    throw;
  }
}

void StoreCopy::copy(const fs::path& store) const {
  const fs::path log = log_of(store);
  const auto before = std::pair(read_state(store), read_state(log));
  fs::copy_file(log, log_of(path()));
  fs::copy_file(store, path());
  if (before != std::pair(read_state(store), read_state(log))) {
    throw Error(
        Error::Kind::kTryAgain,
        fmt::format("the store '{}' was written while it was read: try again", store.string()));
  }
}

StoreCopy::~StoreCopy() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace plumb::store
