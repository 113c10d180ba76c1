// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol/stack.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <functional>

#include "harness/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::worker {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class StackTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = folder_.path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  Error error_of(const std::string& name) const {
    try {
      (void)load_stack(name, folder_.path());
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return {Error::Kind::kInternal, ""};
  }

  TemporaryFolder folder_;
};

TEST_F(StackTest, reads_every_key_with_paths_relative_to_its_folder) {
  write("old/lib/libdnnl.so.3", "");
  write("old/rt/ld.so", "");
  write("old/stack.toml", R"(
    backend = "onednn"
    libraries = ["lib/libdnnl.so.3"]
    folders = ["lib", "./rt"]
    loader = "rt/ld.so"
    [variables]
    ONEDNN_MAX_CPU_ISA = "AVX2"
  )");
  const Stack stack = load_stack("old", folder_.path());
  const std::filesystem::path root = folder_.path() / "old";
  EXPECT_EQ(stack.name, "old");
  EXPECT_EQ(stack.backend, "onednn");
  EXPECT_EQ(stack.libraries, std::vector{root / "lib/libdnnl.so.3"});
  EXPECT_EQ(stack.folders, (std::vector{root / "lib", root / "rt"}));
  EXPECT_EQ(stack.loader, root / "rt/ld.so");
  EXPECT_EQ(stack.variables, (std::map<std::string, std::string>{{"ONEDNN_MAX_CPU_ISA", "AVX2"}}));
}

TEST_F(StackTest, finds_a_library_s_name_beside_the_default_stack_s) {
  write("elsewhere/libdnnl.so.3", "");
  write("s/stack.toml", "libraries = [\"libdnnl.so.3\"]\nfolders = [\"lib\"]");
  write("s/lib/other.so", "");
  const std::filesystem::path library = folder_.path() / "elsewhere/libdnnl.so.3";
  ::setenv("PLUMB_ONEDNN_LIBRARY", library.c_str(), 1);
  EXPECT_EQ(load_stack("s", folder_.path()).libraries, std::vector{library});
  write("s/lib/libdnnl.so.3", "");
  EXPECT_EQ(load_stack("s", folder_.path()).libraries,
            std::vector{folder_.path() / "s/lib/libdnnl.so.3"})
      << "the stack's own folders come first";
  write("s/stack.toml", "\nlibraries = [\"libnone.so\"]");
  const Error error = error_of("s");
  ::unsetenv("PLUMB_ONEDNN_LIBRARY");
  EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("'libnone.so' (line 2"),
                    HasSubstr((folder_.path() / "s").string()),
                    HasSubstr((folder_.path() / "elsewhere").string())));
}

TEST_F(StackTest, names_the_stacks_there_are) {
  write("b/stack.toml", "");
  write("a/stack.toml", "");
  write("no_stack/readme", "");
  const Error error = error_of("c");
  EXPECT_EQ(error.kind(), Error::Kind::kUser);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("'c'"), HasSubstr("default, a, b")));
}

TEST_F(StackTest, reads_a_name_with_a_slash_as_the_path_of_a_folder) {
  write("elsewhere/here/stack.toml", "backend = \"fake\"\nfolders = [\"lib\"]");
  write("elsewhere/here/lib/readme", "");
  const std::filesystem::path here = folder_.path() / "elsewhere/here";
  for (const std::string spelling : {"", "/", "/.", "/../here/"}) {
    const Stack stack = load_stack(here.string() + spelling, "/nowhere");
    EXPECT_EQ(stack.name, here) << spelling;
    EXPECT_EQ(stack.backend, "fake");
    EXPECT_EQ(stack.folders, std::vector{here / "lib"});
  }
  EXPECT_TRUE(names_folder("./default"));
  EXPECT_FALSE(names_folder("default"));
  EXPECT_EQ(file_name_of("onednn-3.7"), "onednn-3.7");
  EXPECT_THAT(file_name_of(here), testing::MatchesRegex("here-[0-9a-f]+"));
}

TEST_F(StackTest, takes_the_library_that_a_build_leaves_in_a_folder) {
  write("one/libdnnl.so.3", "");
  write("one/libdnnl.so.3.7", "");
  write("two/src/libdnnl.so.3.8", "");
  write("gpu/lib64/libcudnn.so.9", "");
  const std::filesystem::path root = folder_.path();
  EXPECT_EQ(load_stack(root / "one", "/nowhere").libraries, std::vector{root / "one/libdnnl.so.3"});
  EXPECT_EQ(load_stack(root / "one", "/nowhere").backend, "onednn");
  EXPECT_EQ(load_stack(root / "two", "/nowhere").libraries,
            std::vector{root / "two/src/libdnnl.so.3.8"});
  EXPECT_EQ(load_stack(root / "gpu", "/nowhere").backend, "cuda");
  EXPECT_EQ(load_stack(root / "gpu", "/nowhere").folders, std::vector{root / "gpu/lib64"});
  write("none/libother.so", "");
  EXPECT_THAT(error_of(root / "none").what(), HasSubstr("is no stack"));
  EXPECT_THAT(error_of(root / "absent").what(), HasSubstr("there is no folder"));
}

TEST_F(StackTest, refuses_names_that_leave_the_folder) {
  write("a/stack.toml", "");
  for (const std::string name : {"", ".", "..", "../a", "a/../a", "/etc"}) {
    EXPECT_EQ(error_of(name).kind(), Error::Kind::kUser) << name;
  }
}

TEST_F(StackTest, names_the_line_that_is_wrong) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"\nlibrary = []", "stack.toml:2: unknown key 'library'; known keys are backend, folders"},
      {"\n\nbackend = 3", "stack.toml:3: 'backend' must be a text"},
      {"backend = \"../x\"", "stack.toml:1: backend '../x' is not a name"},
      {"folders = \"lib\"", "stack.toml:1: 'folders' must be a list of paths"},
      {"folders = [1]", "stack.toml:1: 'folders' must be a text"},
      {"variables = []", "stack.toml:1: 'variables' must be a table"},
      {"[variables]\nA = 1", "stack.toml:2: 'variables.A' must be a text"},
      {"[variables]\n\"A=B\" = \"x\"", "stack.toml:2: 'A=B' is not the name of a variable"},
      {"backend = \n", "stack.toml:1: "},
  };
  for (const auto& [text, expected] : cases) {
    write("s/stack.toml", text);
    const Error error = error_of("s");
    EXPECT_EQ(error.kind(), Error::Kind::kUser) << text;
    EXPECT_THAT(error.what(), HasSubstr(expected)) << text;
  }
}

TEST_F(StackTest, says_which_named_file_is_missing) {
  write("s/stack.toml", "\nlibraries = [\"lib/libdnnl.so.3\"]");
  const Error error = error_of("s");
  EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("s/lib/libdnnl.so.3'"), HasSubstr("line 2")));
}

TEST_F(StackTest, refuses_a_huge_file) {
  write("s/stack.toml", std::string((std::size_t{1} << 20) + 1, '\n'));
  EXPECT_THAT(error_of("s").what(), HasSubstr("larger than 1 MiB"));
}

TEST_F(StackTest, takes_the_default_library_from_the_environment) {
  write("libdnnl.so.3", "");
  const std::string library = folder_.path() / "libdnnl.so.3";
  ::setenv("PLUMB_ONEDNN_LIBRARY", library.c_str(), 1);
  const Stack stack = load_stack("default", folder_.path());
  EXPECT_EQ(stack.name, "default");
  EXPECT_EQ(stack.backend, "onednn");
  EXPECT_EQ(stack.libraries, std::vector<std::filesystem::path>{library});

  ::setenv("PLUMB_ONEDNN_LIBRARY", "/no/such/libdnnl.so.3", 1);
  const Error error = error_of("default");
  ::unsetenv("PLUMB_ONEDNN_LIBRARY");
  EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("/no/such/libdnnl.so.3"), HasSubstr("ci/setup")));
}

TEST_F(StackTest, takes_the_packages_of_a_python_for_a_stack_of_its_pytorch) {
  write("venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so", "");
  const std::filesystem::path venv = folder_.path() / "venv";
  const std::filesystem::path packages = venv / "lib/python3.11/site-packages";
  const Stack bare = load_stack(packages.string() + "/", folder_.path());
  EXPECT_EQ(bare.backend, "pytorch");
  EXPECT_EQ(bare.libraries,
            std::vector<std::filesystem::path>{packages / "torch/lib/libtorch_cpu.so"});
  EXPECT_EQ(bare.variables,
            (std::map<std::string, std::string>{{"PYTHONPATH", packages.string()}}));

  write("venv/pyvenv.cfg", "");
  write("venv/bin/python3", "");
  const Stack of_environment = load_stack(packages.string(), folder_.path());
  EXPECT_EQ(of_environment.variables.at("PLUMB_PYTHON"), (venv / "bin/python3").string());
}

}  // namespace
}  // namespace plumb::worker
