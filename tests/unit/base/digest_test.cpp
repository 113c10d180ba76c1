// SPDX-License-Identifier: Apache-2.0
#include "harness/base/digest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb {
namespace {

// FIPS 180-2, appendix B.1 to B.3, and the empty message of NIST's SHAVS.
TEST(Digest, matches_the_published_vectors) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Digest, a_file_hashes_like_its_content) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "million";
  std::ofstream(path, std::ios::binary) << std::string(1'000'000, 'a');
  EXPECT_EQ(sha256_of_file(path),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  std::ofstream(folder.path() / "empty", std::ios::binary).flush();
  EXPECT_EQ(sha256_of_file(folder.path() / "empty"), sha256(""));
}

TEST(Digest, a_file_that_is_not_there_is_named) {
  try {
    (void)sha256_of_file("/nowhere/library.so");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    EXPECT_THAT(error.what(), testing::HasSubstr("/nowhere/library.so"));
  }
}

}  // namespace
}  // namespace plumb
