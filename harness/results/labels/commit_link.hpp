// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace plumb::results {

/// Template of the addresses of commits: "https://example.org/team/repo/commit/{commit}".
class CommitLink {
 public:
  /// Without a template, no commit has an address.
  CommitLink() = default;
  /// Takes a template that begins with http:// or https://, and has `{commit}` once, behind the
  /// host. Throws Error{kUser} for another one, and for characters that no address has.
  explicit CommitLink(std::string_view url);

  /// Returns the address of a commit, whose characters are escaped. Empty: it has none.
  [[nodiscard]] std::string address(std::string_view commit) const;

 private:
  std::string before_;
  std::string after_;
};

/// Returns whether a text is an http or https address of a host, without a user, and without
/// characters that end a link in Markdown or HTML.
[[nodiscard]] bool is_web_address(std::string_view text);

/// Returns whether a commit is named by its hash, or by the first seven digits of it or more. Git
/// takes such a name for nothing else.
[[nodiscard]] bool is_commit_hash(std::string_view commit);

/// Returns the first twelve characters of a commit, as tables show it.
[[nodiscard]] std::string short_commit(std::string_view commit);

}  // namespace plumb::results
