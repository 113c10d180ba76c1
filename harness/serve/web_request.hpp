// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumb::serve {

/// Request to a server of others, over http or https.
struct WebRequest {
  /// Answer of a server.
  struct Answer {
    long status = 0;      ///< 0: there was none
    std::string problem;  ///< why there was none, in words
    std::string body;
    bool cut = false;  ///< the body is longer than was wanted
    std::map<std::string, std::string> headers;
  };

  std::string method = "GET";
  std::string url;
  std::vector<std::string> headers;  ///< "Name: value"; no value may hold a line break
  std::string body;
  std::vector<std::string> wanted;  ///< names of the answer's headers that are kept, in lower case
  std::size_t most_bytes = 500;     ///< of the answer's body that are read
  bool netrc = false;               ///< user and password are taken from ~/.netrc
  bool proxy = true;                ///< the user's proxy may be asked
};

/// Sends a request and waits for the answer, at most a minute. Redirections are not followed.
[[nodiscard]] WebRequest::Answer send_request(const WebRequest& request);

/// Returns a URL without the user and password that it may hold.
[[nodiscard]] std::string without_password(const std::string& url);

/// Checks the address of a server to which a secret is sent. It is https, or http to this machine
/// alone (127.0.0.0/8, ::1, localhost), without a user. Returns whether it is of this machine.
/// Throws Error{kUser}.
bool check_trusted_address(const std::string& url);

/// Labels that name a group of metrics in a Pushgateway, in order, the job first.
using GroupingKey = std::vector<std::pair<std::string, std::string>>;

/// Returns whether Prometheus accepts a label of this name.
[[nodiscard]] bool is_label_name(std::string_view name);

/// Returns the path of a group in a Pushgateway: "/metrics/job/plumb/suite/quick". A value that a
/// path cannot hold is in base64, as the gateway's interface requires.
[[nodiscard]] std::string group_path(const GroupingKey& group);

/// Replaces all metrics of a group in the gateway at `url`, which is http or https. Redirections
/// are not followed. Throws Error{kUser} for another URL, and Error{kEnvironment} with the
/// gateway's words if it cannot be reached or refuses.
void push_to_gateway(const std::string& url, const GroupingKey& group, const std::string& text);

}  // namespace plumb::serve
