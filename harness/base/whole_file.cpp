// SPDX-License-Identifier: Apache-2.0
#include "harness/base/whole_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "harness/base/error.hpp"

namespace plumb {

void write_whole_file(const std::filesystem::path& target,
                      const std::function<void(std::ostream&)>& write) {
  const std::filesystem::path part = fmt::format("{}.{}.part", target.string(), ::getpid());
  std::ofstream out(part, std::ios::binary);
  write(out);
  out.close();
  std::error_code error;
  if (out) {
    std::filesystem::rename(part, target, error);
  }
  if (!out || error) {
    std::filesystem::remove(part, error);
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format("cannot write '{}': check that the folder exists and the disk has space",
                    target.string()));
  }
}

}  // namespace plumb
