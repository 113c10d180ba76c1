// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>

#include "harness/base/error.hpp"
#include "harness/stacks/stack_probe.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::stacks {
namespace {

std::filesystem::path a_library() {
  Dl_info where{};
  EXPECT_NE(dladdr(reinterpret_cast<const void*>(&zlibVersion), &where), 0);
  return where.dli_fname;
}

TEST(ExportedSymbols, lists_what_a_real_library_defines) {
  const std::vector<std::string> symbols = exported_symbols(a_library());
  EXPECT_TRUE(std::is_sorted(symbols.begin(), symbols.end()));
  EXPECT_TRUE(std::binary_search(symbols.begin(), symbols.end(), "deflateInit_"));
  EXPECT_FALSE(std::binary_search(symbols.begin(), symbols.end(), "malloc")) << "only imported";
}

TEST(ExportedSymbols, refuses_what_is_no_library_and_every_truncation) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "library.so";
  std::filesystem::copy_file(a_library(), file);
  const std::uintmax_t size = std::filesystem::file_size(file);
  for (const std::uintmax_t part : {size - 1, size / 2, std::uintmax_t{64}, std::uintmax_t{10}}) {
    std::filesystem::resize_file(file, part);
    EXPECT_THROW(static_cast<void>(exported_symbols(file)), Error) << part << " bytes";
  }
}

}  // namespace
}  // namespace plumb::stacks
