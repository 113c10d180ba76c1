// SPDX-License-Identifier: Apache-2.0
#include "harness/store/export_chain.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <span>

#include "harness/base/error.hpp"
#include "harness/base/hash64.hpp"

namespace plumb::store {
namespace {

constexpr std::string_view kField = R"(,"digest":")";
constexpr std::string_view kEnd = R"("})";
constexpr std::size_t kDigits = 16;
constexpr std::size_t kSealSize = kField.size() + kDigits + kEnd.size();

std::uint64_t compute_digest(std::string_view line, std::uint64_t before) {
  return hash64(std::as_bytes(std::span(line)), before);
}

}  // namespace

std::string ExportChain::seal(std::string_view line) {
  PLUMB_CHECK(line.ends_with('}'));
  digest_ = compute_digest(line, digest_);
  return fmt::format("{}{}{:016x}{}", line.substr(0, line.size() - 1), kField, digest_, kEnd);
}

bool ExportChain::is_sealed(std::string_view line) {
  return line.size() > kSealSize && line.ends_with(kEnd) &&
         line.substr(line.size() - kSealSize, kField.size()) == kField;
}

std::string ExportChain::unseal(std::string_view line) {
  if (!is_sealed(line)) {
    throw Error(Error::Kind::kUser, "the line has no digest: it was altered or cut off");
  }
  std::string content(line.substr(0, line.size() - kSealSize));
  content += '}';
  digest_ = compute_digest(content, digest_);
  const std::string_view digits = line.substr(line.size() - kEnd.size() - kDigits, kDigits);
  if (digits != fmt::format("{:016x}", digest_)) {
    throw Error(Error::Kind::kUser,
                "the line does not match its digest: it or the order of the lines was altered");
  }
  return content;
}

}  // namespace plumb::store
