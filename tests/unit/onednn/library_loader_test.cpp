// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/library_loader.hpp"

#include "harness/base/error.hpp"

namespace plumb::onednn {
namespace {

using testing::HasSubstr;

std::string failure_of(const std::vector<std::filesystem::path>& libraries,
                       const std::filesystem::path& module) {
  try {
    static_cast<void>(load_backend(libraries, module));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    return error.what();
  }
  return "no error";
}

TEST(OnednnLibraryLoader, names_a_missing_library_and_how_to_get_one) {
  const std::string text = failure_of({"/nowhere/libdnnl.so.3"}, PLUMB_ONEDNN_MODULE);
  EXPECT_THAT(text, HasSubstr("'/nowhere/libdnnl.so.3' does not exist"));
  EXPECT_THAT(text, HasSubstr("ci/setup"));
}

TEST(OnednnLibraryLoader, refuses_a_file_that_is_no_library) {
  EXPECT_THAT(failure_of({PLUMB_TEXT_FILE}, PLUMB_ONEDNN_MODULE), HasSubstr("cannot be loaded"));
}

TEST(OnednnLibraryLoader, refuses_a_stack_without_onednn) {
  EXPECT_THAT(failure_of({}, PLUMB_ONEDNN_MODULE), HasSubstr("no symbol dnnl_version"));
}

// The last one, since a library that is loaded stays loaded.
TEST(OnednnLibraryLoader, runs_with_the_library_that_the_path_names) {
  EXPECT_THAT(failure_of({PLUMB_ONEDNN_LIBRARY}, "/nowhere/module.so"),
              HasSubstr("'/nowhere/module.so'"));
  const std::unique_ptr<worker::Backend> backend =
      load_backend({PLUMB_ONEDNN_LIBRARY}, PLUMB_ONEDNN_MODULE);
  EXPECT_EQ(std::filesystem::canonical(backend->describe().facts.at("library.path")),
            std::filesystem::canonical(PLUMB_ONEDNN_LIBRARY));
}

}  // namespace
}  // namespace plumb::onednn
