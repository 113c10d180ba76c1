// SPDX-License-Identifier: Apache-2.0
#include "harness/results/labels/commit_link.hpp"

#include <fmt/format.h>

#include "harness/base/error.hpp"
#include "harness/base/percent_encoding.hpp"

namespace plumb::results {
namespace {

constexpr std::string_view kCommit = "{commit}";
constexpr std::size_t kMaxAddress = 500;
constexpr std::size_t kShortCommit = 12;
// Characters of RFC 3986, without those that end a link in Markdown.
constexpr std::string_view kOfAddress =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?#&+,;=%@";

[[noreturn]] void refuse(std::string_view url, const char* why) {
  throw Error(Error::Kind::kUser,
              fmt::format("'{}' is no template for the addresses of commits: {}; write one such as "
                          "https://example.org/team/repo/commit/{{commit}}",
                          url,
                          why));
}

}  // namespace

CommitLink::CommitLink(std::string_view url) {
  const std::size_t place = url.find(kCommit);
  if (place == std::string_view::npos || url.find(kCommit, place + 1) != std::string_view::npos) {
    refuse(url, "it must have {commit} once");
  }
  before_ = url.substr(0, place);
  after_ = url.substr(place + kCommit.size());
  if (!before_.starts_with("https://") && !before_.starts_with("http://")) {
    refuse(url, "it must begin with http:// or https://");
  }
  if (before_.find('/', before_.find("://") + 3) == std::string::npos) {
    refuse(url, "{commit} must stand behind the host");
  }
  if (!is_web_address(before_ + after_)) {
    refuse(url, "it is too long, or has a user, no host, or a character that no address has");
  }
}

std::string CommitLink::address(std::string_view commit) const {
  // Dots alone would lead to another folder.
  if (before_.empty() || commit.find_first_not_of('.') == std::string_view::npos) {
    return {};
  }
  return before_ + percent_encoded(commit) + after_;
}

bool is_web_address(std::string_view text) {
  const std::size_t scheme = text.starts_with("https://") ? 8 : text.starts_with("http://") ? 7 : 0;
  const std::string_view host = text.substr(scheme, text.find('/', scheme) - scheme);
  return scheme > 0 && !host.empty() && host.find('@') == std::string_view::npos &&
         text.size() <= kMaxAddress && text.find_first_not_of(kOfAddress) == std::string_view::npos;
}

bool is_commit_hash(std::string_view commit) {
  return commit.size() >= 7 && commit.size() <= 64 &&
         commit.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string short_commit(std::string_view commit) {
  return std::string(commit.substr(0, kShortCommit));
}

}  // namespace plumb::results
