// SPDX-License-Identifier: Apache-2.0
//
// Any bytes are refused with an error of the user, or are functions with names within bounds.
#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/base/error.hpp"
#include "harness/importers/symbols/code_finder.hpp"
#include "tests/fuzz/require.hpp"

using namespace plumb;
using plumb::test::require;

namespace {

void check_jit_dump(const std::string& bytes) {
  std::uint64_t before = 0;
  for (const importers::NamedCode& code : importers::read_jit_dump(bytes).functions) {
    require(code.begin >= before && code.end > code.begin);
    require(code.name.size() <= importers::kMaxCodeName);
    before = code.end;
  }
}

void check_perf_map(const std::string& text) {
  std::uint64_t before = 0;
  for (const importers::NamedCode& code : importers::read_perf_map(text)) {
    require(code.begin >= before && code.end > code.begin);
    require(!code.name.empty() && code.name.size() <= importers::kMaxCodeName);
    before = code.end;
  }
}

void check_elf(std::string bytes) {
  const importers::ElfSymbols symbols{std::span<char>(bytes)};
  require(symbols.build_id().size() <= 128);
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{0x1130}, ~std::uint64_t{0}}) {
    const importers::NamedCode* const code = symbols.find(address);
    require(code == nullptr || (code->begin <= address && address < code->end));
    static_cast<void>(symbols.loaded_address(address));
  }
}

template <typename Check>
void expect_refusal(Check&& check) {
  try {
    check();
  } catch (const Error& error) {
    require(error.kind() == Error::Kind::kUser);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  expect_refusal([&] { check_jit_dump(bytes); });
  expect_refusal([&] { check_perf_map(bytes); });
  expect_refusal([&] { check_elf(bytes); });
  return 0;
}
