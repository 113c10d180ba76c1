// SPDX-License-Identifier: Apache-2.0
//
// Any file is refused with an error of the user, or has samples, series or annotated series within
// the stated bounds.
#include <cstddef>
#include <cstdint>

#include "harness/base/error.hpp"
#include "harness/session/study/criteria_file.hpp"
#include "harness/session/study/sample_file.hpp"
#include "tests/fuzz/require.hpp"
#include "tests/fuzz/scratch_file.hpp"

using plumb::test::require;

namespace {

constexpr std::size_t kMaxValues = 20'000;

template <typename Read>
void check(Read&& read) {
  using plumb::Error;
  try {
    read();
  } catch (const Error& error) {
    require(error.kind() == Error::Kind::kUser);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  static test::ScratchFile file("samples");
  const std::filesystem::path& path = file.write(data, size);
  check([&] { static_cast<void>(session::read_paired_samples(path)); });
  check([&] {
    for (const session::AnnotatedSet::NamedSeries& series : session::read_series(path)) {
      require(series.values.size() <= kMaxValues);
    }
  });
  check([&] {
    for (const session::AnnotatedSet::Series& annotated :
         session::read_annotated_series(path).series) {
      require(!annotated.annotators.empty());
      for (const auto& marks : annotated.annotators) {
        for (const auto mark : marks) {
          require(static_cast<std::size_t>(mark) <= annotated.series.values.size());
        }
      }
    }
  });
  check([&] { static_cast<void>(session::read_criteria(path, "2026-11-21")); });
  return 0;
}
