// SPDX-License-Identifier: Apache-2.0
#include "harness/base/digest.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#define XXH_INLINE_ALL  // nothing to link
#include <xxhash.h>

#include <array>
#include <fstream>
#include <memory>

#include "harness/base/error.hpp"

namespace plumb {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    PLUMB_CHECK(context_ != nullptr &&
                EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void update(const char* data, std::size_t size) {
    PLUMB_CHECK(EVP_DigestUpdate(context_.get(), data, size) == 1);
  }
  std::string finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
    unsigned int size = 0;
    PLUMB_CHECK(EVP_DigestFinal_ex(context_.get(), raw.data(), &size) == 1);
    std::string hex;
    for (unsigned int i = 0; i < size; ++i) {
      fmt::format_to(std::back_inserter(hex), "{:02x}", raw[i]);
    }
    return hex;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH64(bytes.data(), bytes.size(), seed);
}

std::string sha256(std::string_view content) {
  Sha256 hash;
  hash.update(content.data(), content.size());
  return hash.finish();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot read '{}' to hash it: check that it exists and is readable",
                            path.string()));
  }
  Sha256 hash;
  std::array<char, 1 << 16> piece{};
  while (file.read(piece.data(), piece.size()) || file.gcount() > 0) {
    hash.update(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  return hash.finish();
}

}  // namespace plumb
