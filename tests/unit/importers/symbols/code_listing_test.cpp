// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "harness/base/error.hpp"
#include "harness/importers/symbols/code_finder.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/importers/symbols/jit_dump_builder.hpp"

namespace plumb::importers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

#if defined(__x86_64__)
const std::string kCode = "\x48\x83\xc0\x01\xc5\xfc\x58\xc1\xc3";  // add rax, 1; vaddps; ret
constexpr std::uint64_t kSecond = 4;
constexpr std::uint64_t kThird = 8;
constexpr const char* kReturn = "ret";
#elif defined(__aarch64__)
const std::string kCode = "\x00\x04\x00\x91\x20\x1c\x20\x4e\xc0\x03\x5f\xd6";  // add; and; ret
constexpr std::uint64_t kSecond = 4;
constexpr std::uint64_t kThird = 8;
constexpr const char* kReturn = "ret";
#endif

/// A process with code that was made at run time: a hot kernel, another one of the same name, and
/// one of another name.
class ListedCode : public testing::Test {
 protected:
  ListedCode() {
    std::ofstream(file_, std::ios::binary) << JitDumpBuilder()
                                                  .load(0x3400, kCode, "jit_kernel")
                                                  .load(0x3600, kCode, "jit_kernel")
                                                  .load(0x3800, kCode, "jit_other")
                                                  .bytes();
    profile_.mappings = {{0x3000, 0x4000, 0, "", ""}};
    add(0x3400 + kSecond, 3);
    add(0x3400 + kThird, 1);
    add(0x3600, 2);
    add(0x3800, 1);
    add(0x9000, 3);
  }

  void add(std::uint64_t address, int samples) {
    for (int i = 0; i < samples; ++i) {
      profile_.samples.push_back({.address = address});
    }
  }

  [[nodiscard]] std::vector<results::NamedProfile::Listing> list_hottest(
      const std::vector<std::filesystem::path>& dumps) const {
    CodeFinder finder(profile_.mappings, dumps);
    return list_hottest_code(profile_, finder, {"conv", "pool"});
  }

  [[nodiscard]] results::NamedProfile::Listing list(const std::string& function) const {
    return list_code(profile_, {file_}, {"conv", "pool"}, function);
  }

  const TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "code.dump";
  results::SampledProfile profile_;
};

TEST_F(ListedCode, has_the_instructions_and_the_samples_of_each) {
  const results::NamedProfile::Listing listing = list("");
  EXPECT_EQ(listing.function,
            (results::NamedProfile::CodeNames::Function{"jit_kernel", "generated"}));
  EXPECT_EQ(listing.samples, 4U);
  EXPECT_EQ(listing.counts, (results::BlockCounts{{0, 4}}));
  EXPECT_EQ(listing.of_profile, 10U);
  EXPECT_EQ(listing.alike, 1U);
  EXPECT_EQ(listing.bytes, kCode.size());
  EXPECT_FALSE(listing.exact);
  ASSERT_EQ(listing.instructions.size(), 3U);
  EXPECT_THAT(listing.instructions[0].text, HasSubstr("add"));
  EXPECT_EQ(listing.instructions[0].samples, 0U);
  EXPECT_EQ(listing.instructions[1].offset, kSecond);
  EXPECT_EQ(listing.instructions[1].samples, 3U);
  EXPECT_EQ(listing.instructions[1].counts, (results::BlockCounts{{0, 3}}));
  EXPECT_EQ(listing.instructions[2].text, kReturn);
  EXPECT_EQ(listing.instructions[2].samples, 1U);
}

TEST_F(ListedCode, is_of_the_function_that_was_named) {
  EXPECT_EQ(list("jit_other").samples, 1U);
  try {
    static_cast<void>(list("jit_absent"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    EXPECT_THAT(error.what(), HasSubstr("'jit_kernel', 'jit_other'"));
  }
}

TEST_F(ListedCode, of_the_hottest_functions_has_one_code_of_each) {
  for (results::SampledProfile::Sample& sample : profile_.samples) {
    sample.step = sample.address == 0x3600 ? 0 : 1;
  }
  const std::vector<results::NamedProfile::Listing> listings = list_hottest({file_});
  ASSERT_EQ(listings.size(), 3U);
  EXPECT_EQ(listings[0].function.name, "jit_kernel");
  EXPECT_EQ(listings[0].samples, 4U);
  EXPECT_EQ(listings[0].alike, 1U);
  EXPECT_EQ(listings[0].step, "pool");
  EXPECT_EQ(listings[0].disassembled, 3U);
  EXPECT_EQ(listings[0].problem, "");
  EXPECT_EQ(listings[1].function.image, results::kUnmappedImage);
  EXPECT_EQ(listings[1].samples, 3U);
  EXPECT_THAT(listings[1].problem, HasSubstr("no code was mapped there"));
  EXPECT_THAT(listings[1].instructions, IsEmpty());
  EXPECT_EQ(listings[2].function.name, "jit_other");
}

TEST_F(ListedCode, of_code_that_was_not_kept_says_so) {
  const std::vector<results::NamedProfile::Listing> listings = list_hottest({});
  ASSERT_EQ(listings.size(), 2U);
  EXPECT_EQ(listings[0].function.image, results::kGeneratedImage);
  EXPECT_EQ(listings[0].samples, 7U);
  EXPECT_THAT(listings[0].problem, HasSubstr("kept no dump"));
  EXPECT_EQ(list_hottest({file_})[0].problem, "");
  profile_.mappings = {{0x3000, 0x4000, 0, folder_.path() / "absent.so", "00ff"}};
  EXPECT_THAT(list_hottest({})[0].problem, HasSubstr("absent.so"));
}

TEST_F(ListedCode, of_code_that_only_a_perf_map_names_says_so) {
  const std::filesystem::path map = folder_.path() / "perf.map";
  std::ofstream(map) << "3000 1000 mapped\n";
  const std::vector<results::NamedProfile::Listing> listings = list_hottest({map});
  EXPECT_EQ(listings.at(0).function.name, "mapped");
  EXPECT_THAT(listings[0].problem, HasSubstr("names this code, but does not hold it"));
  EXPECT_THAT(listings[0].instructions, IsEmpty());
  EXPECT_THROW(static_cast<void>(list_code(profile_, {map}, {}, "mapped")), Error);
}

TEST_F(ListedCode, of_a_profile_without_names_is_an_error) {
  EXPECT_THROW(static_cast<void>(list_code(profile_, {}, {}, "")), Error);
}

TEST_F(ListedCode, of_very_long_code_is_cut_and_says_so) {
  const std::string code(2 * kMaxListedBytes, '\x90');
  std::ofstream(file_, std::ios::binary) << JitDumpBuilder().load(0x3400, code, "long").bytes();
  const results::NamedProfile::Listing listing = list("");
  EXPECT_EQ(listing.bytes, code.size());
  EXPECT_EQ(listing.bytes_listed, kMaxListedBytes);
  EXPECT_LE(listing.instructions.size(), kMaxListedBytes);
}

TEST_F(ListedCode, of_a_dump_that_is_cut_off_is_an_error_with_its_name) {
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) - 4);
  add(0x3800, 100);
  try {
    const results::NamedProfile::Listing listing = list("jit_other");
    FAIL() << listing.instructions.size();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
  }
}

/// Function whose code the test finds in its own executable.
[[gnu::noinline]] int listed_function(int value) {
  asm volatile("" : "+r"(value));
  return value + 1;
}

TEST(CodeListingOfFile, comes_from_the_file_of_the_code) {
  const auto address = reinterpret_cast<std::uint64_t>(&listed_function);
  results::SampledProfile profile;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    unsigned long offset = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx", &begin, &end, &offset) == 3 &&
        address >= begin && address < end) {
      profile.mappings = {
          {begin, end, offset, std::filesystem::read_symlink("/proc/self/exe"), ""}};
    }
  }
  profile.samples = {{.address = address}};
  EXPECT_EQ(listed_function(1), 2);
  const results::NamedProfile::Listing listing = list_code(profile, {}, {}, "");
  EXPECT_THAT(listing.function.name, HasSubstr("listed_function"));
  profile.mappings[0].build_id = "00ff";
  CodeFinder finder(profile.mappings, {});
  EXPECT_THAT(list_hottest_code(profile, finder, {}).at(0).problem, HasSubstr("has changed since"));
  ASSERT_FALSE(listing.instructions.empty());
  EXPECT_EQ(listing.instructions[0].samples, 1U);
  EXPECT_THAT(listing.instructions,
              testing::Contains(testing::Field(&results::NamedProfile::Listing::Instruction::text,
                                               HasSubstr("ret"))));
}

}  // namespace
}  // namespace plumb::importers
