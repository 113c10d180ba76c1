// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace plumb::serve {

/// Pull request of GitHub, or merge request of GitLab.
struct Review {
  /// Services whose pull requests can have a comment.
  enum class Forge { kGithub, kGitlab };

  /// Comment after it was put.
  struct Comment {
    bool created = false;  ///< false: it was there, and has a new text
    std::string address;   ///< for a browser; empty: the service says none
  };

  Forge forge = Forge::kGithub;
  std::string api;      ///< address of the interface: "https://HOST/api/v4"
  std::string project;  ///< "owner/repo"; of GitLab, a path of any depth or a number
  std::int64_t number = 0;
};

/// Checks the address and the names of a review. Throws Error{kUser}.
void check_review(const Review& review);

/// Puts a text as the one comment that begins with `marker`. The oldest such comment of the token's
/// owner gets the text, and without one a comment is made. The text must begin with the marker.
///
/// GitHub says nothing of who owns a job's token. There the comment must be one of an app.
///
/// An answer that says "later" is waited for, and one that failed is asked again, for two minutes
/// in all. Throws Error{kTryAgain} where that is not enough, and Error{kEnvironment} with the
/// service's words if it refuses. Neither the text of an error nor a log has the token.
[[nodiscard]] Review::Comment put_comment(const Review& review,
                                          const std::string& token,
                                          const std::string& marker,
                                          const std::string& text,
                                          const std::atomic<bool>& stop);

}  // namespace plumb::serve
