// SPDX-License-Identifier: Apache-2.0
//
// Any file is refused with an error of the user, or is a suite, a list of shapes or a stack. Only a
// stack that names files which are not there is an error of the environment.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "harness/base/error.hpp"
#include "harness/suite/suite.hpp"
#include "harness/worker/protocol/stack.hpp"
#include "tests/fuzz/scratch_file.hpp"

namespace {

template <typename Read>
void check(Read&& read, bool may_lack) {
  using plumb::Error;
  try {
    read();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::kUser &&
        !(may_lack && error.kind() == Error::Kind::kEnvironment)) {
      std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  static test::ScratchFile file("stack.toml");
  const std::filesystem::path& path = file.write(data, size);
  check([&] { static_cast<void>(to_json(suite::resolve(suite::read_suite(path)))); }, false);
  check([&] { static_cast<void>(suite::read_shapes(path)); }, false);
  const std::filesystem::path folder = file.folder();
  check([&] { static_cast<void>(worker::load_stack(folder.filename(), folder.parent_path())); },
        true);
  return 0;
}
