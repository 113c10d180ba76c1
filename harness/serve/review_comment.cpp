// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/review_comment.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <thread>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/results/json_object.hpp"
#include "harness/serve/web_request.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::serve {
namespace {

using std::chrono::seconds;

constexpr seconds kMaxWait{120};
constexpr seconds kLongestDelay{3600};
constexpr int kMaxTries = 4;
constexpr int kMaxPages = 50;
constexpr std::size_t kPageSize = 100;
constexpr std::size_t kMaxAnswer = std::size_t{32} << 20;  // a page of a hundred long comments
constexpr std::size_t kMaxToken = 4096;
constexpr std::size_t kMaxProject = 255;
constexpr std::size_t kWordsShown = 300;

bool is_name_character(char c, std::string_view more) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         more.find(c) != std::string_view::npos;
}

/// Returns whether each part of a path between slashes is a name.
bool is_path_of_names(std::string_view path) {
  while (true) {
    const std::size_t end = path.find('/');
    const std::string_view name = path.substr(0, end);
    if (name.empty() || name.find_first_not_of('.') == std::string_view::npos ||
        !std::all_of(
            name.begin(), name.end(), [](char c) { return is_name_character(c, "-_."); })) {
      return false;
    }
    if (end == std::string_view::npos) {
      return true;
    }
    path.remove_prefix(end + 1);
  }
}

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec == std::errc::result_out_of_range && !text.starts_with('-')) {
    return std::numeric_limits<std::int64_t>::max();
  }
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && value >= 0
             ? std::optional(value)
             : std::nullopt;
}

/// What the two services call the same things.
struct Interface {
  explicit Interface(const Review& review) {
    std::string base = review.api;
    while (base.ends_with('/')) {
      base.pop_back();
    }
    user = base + "/user";
    if (review.forge == Review::Forge::kGithub) {
      const std::string repository = base + "/repos/" + review.project;
      comments = fmt::format("{}/issues/{}/comments", repository, review.number);
      comment = repository + "/issues/comments/";
      order = "";
      change = "PATCH";
    } else {
      comments = fmt::format("{}/projects/{}/merge_requests/{}/notes",
                             base,
                             percent_encoded(review.project),
                             review.number);
      comment = comments + "/";
      order = "&sort=asc&order_by=created_at";
      change = "PUT";
    }
  }
  std::string user;
  std::string comments;  ///< listed by GET, made by POST
  std::string comment;   ///< before the number of one
  std::string order;     ///< of the list, oldest first
  std::string change;    ///< method that changes one
};

/// Conversation with a service about one review.
class Conversation {
 public:
  Conversation(const Review& review, const std::string& token, const std::atomic<bool>& stop)
      : review_(review), interface_(review), token_(token), stop_(stop) {
    const bool here = check_trusted_address(review.api);
    request_.proxy = !here;
    request_.most_bytes = kMaxAnswer;
    request_.wanted = {"retry-after", "link", "x-ratelimit-remaining"};
    request_.headers = {"User-Agent: plumb", "Content-Type: application/json"};
    if (review.forge == Review::Forge::kGithub) {
      request_.headers.insert(request_.headers.end(),
                              {"Accept: application/vnd.github+json",
                               "X-GitHub-Api-Version: 2022-11-28",
                               "Authorization: Bearer " + token});
    } else {
      request_.headers.insert(request_.headers.end(),
                              {"Accept: application/json", "PRIVATE-TOKEN: " + token});
    }
  }

  Review::Comment put(const std::string& marker, const std::string& text) {
    marker_ = marker;
    find_owner();
    const std::string body = json_text(nlohmann::json{{"body", text}});
    for (int attempt = 1;; ++attempt) {
      if (const std::optional<std::int64_t> number = find_comment()) {
        return said(ask(interface_.change, interface_.comment + std::to_string(*number), body),
                    false);
      }
      // A comment may have been made although its answer was lost. So it is looked for again.
      const WebRequest::Answer answer = ask_once("POST", interface_.comments, body);
      if (answer.status >= 200 && answer.status < 300) {
        return said(answer, true);
      }
      wait_or_refuse(answer, attempt);
    }
  }

 private:
  /// Sends a request until it is answered. Throws if it is refused.
  WebRequest::Answer ask(const std::string& method,
                         const std::string& url,
                         const std::string& body = "") {
    for (int attempt = 1;; ++attempt) {
      WebRequest::Answer answer = ask_once(method, url, body);
      if (answer.status >= 200 && answer.status < 300) {
        return answer;
      }
      wait_or_refuse(answer, attempt);
    }
  }

  WebRequest::Answer ask_once(const std::string& method,
                              const std::string& url,
                              const std::string& body) {
    request_.method = method;
    request_.url = url;
    request_.body = body;
    WebRequest::Answer answer = send_request(request_);
    if (answer.cut) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("'{}' answered with more than {} MiB", url, kMaxAnswer >> 20));
    }
    return answer;
  }

  /// Finds who owns the token.
  void find_owner() {
    for (int attempt = 1;; ++attempt) {
      const WebRequest::Answer answer = ask_once("GET", interface_.user, "");
      if (answer.status == 200) {
        const nlohmann::json user = results::parse_json(answer.body);
        owner_ = results::JsonObject(user).integer("id", 0, results::JsonObject::kHighest);
        return;
      }
      // The token of a job of GitHub Actions is one of an installation, which has no user.
      if (review_.forge == Review::Forge::kGithub && !delay_wanted(answer) &&
          (answer.status == 403 || answer.status == 404)) {
        return;
      }
      wait_or_refuse(answer, attempt);
    }
  }

  std::optional<std::int64_t> find_comment() {
    for (int page = 1; page <= kMaxPages; ++page) {
      const WebRequest::Answer answer = ask(
          "GET",
          fmt::format(
              "{}?per_page={}&page={}{}", interface_.comments, kPageSize, page, interface_.order));
      const nlohmann::json comments = results::parse_json(answer.body);
      if (!comments.is_array()) {
        throw Error(Error::Kind::kEnvironment,
                    fmt::format("'{}' is no list of comments: check --api", interface_.comments));
      }
      for (const nlohmann::json& each : comments) {
        if (is_ours(each)) {
          return results::JsonObject(each).integer("id", 1, results::JsonObject::kHighest);
        }
      }
      const auto link = answer.headers.find("link");
      if (link == answer.headers.end() || link->second.find("rel=\"next\"") == std::string::npos) {
        return std::nullopt;
      }
    }
    throw Error(Error::Kind::kEnvironment,
                fmt::format("the review has more than {} comments, and none of the first is ours",
                            kMaxPages * static_cast<int>(kPageSize)));
  }

  /// Returns whether a comment has the marker, and is of the token's owner. Others can write the
  /// marker too, and would then have a comment whose text they can change.
  [[nodiscard]] bool is_ours(const nlohmann::json& comment) const {
    const results::JsonObject fields(comment);
    if (!fields.text_or_empty("body").starts_with(marker_)) {
      return false;
    }
    const bool github = review_.forge == Review::Forge::kGithub;
    const char* const name = github ? "user" : "author";
    if (!fields.has(name)) {
      return false;
    }
    const results::JsonObject author = fields.object(name);
    return owner_ ? author.integer("id", 0, results::JsonObject::kHighest) == *owner_
                  : author.text_or_empty("type") == "Bot";
  }

  /// Returns how long an answer asks to wait. Absent: it does not.
  [[nodiscard]] static std::optional<seconds> delay_wanted(const WebRequest::Answer& answer) {
    const auto number = [&](const char* name) {
      const auto found = answer.headers.find(name);
      return found == answer.headers.end() ? std::nullopt : whole_number(found->second);
    };
    const bool spent = number("x-ratelimit-remaining") == 0;
    if (answer.status != 429 && !(answer.status == 403 && (number("retry-after") || spent))) {
      return std::nullopt;
    }
    // Without a time, GitHub asks to wait at least a minute.
    return std::min(kLongestDelay,
                    seconds(std::min(number("retry-after").value_or(spent ? 3600 : 60),
                                     std::int64_t{kLongestDelay.count()})));
  }

  /// Waits before a request is sent again. Throws where it was refused, or has failed too often.
  void wait_or_refuse(const WebRequest::Answer& answer, int attempt) {
    const std::optional<seconds> wanted = delay_wanted(answer);
    const bool failed = answer.status == 0 || answer.status >= 500;
    if (!wanted && !failed) {
      refuse(answer);
    }
    const seconds delay = wanted.value_or(seconds(1 << (attempt - 1)));
    if (attempt >= kMaxTries || waited_ + delay > kMaxWait || stop_.load()) {
      give_up(answer, wanted);
    }
    spdlog::info("{}; asking again in {} s", fault_text(answer), delay.count());
    for (auto left = std::chrono::milliseconds(delay); left.count() > 0 && !stop_.load();
         left -= std::chrono::milliseconds(100)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    waited_ += delay;
  }

  [[nodiscard]] std::string fault_text(const WebRequest::Answer& answer) const {
    if (answer.status == 0) {
      return fmt::format("'{}' cannot be reached: {}", request_.url, answer.problem);
    }
    std::string words = answer.body;
    for (std::size_t at = words.find(token_); at != std::string::npos; at = words.find(token_)) {
      words.replace(at, token_.size(), "(the token)");
    }
    return fmt::format("'{}' answered with status {}: {}",
                       request_.url,
                       answer.status,
                       reporting::sanitize_utf8(words.substr(0, kWordsShown)));
  }

  [[noreturn]] void refuse(const WebRequest::Answer& answer) const {
    const bool github = review_.forge == Review::Forge::kGithub;
    std::string advice = "check --api";
    if (answer.status == 401) {
      advice = "the token is wrong or has expired: check the variable that --token-variable names";
    } else if (answer.status == 403) {
      advice = github ? "the token needs the permission to write pull requests"
                      : "the token needs the scope 'api' and the role Reporter in the project";
    } else if (answer.status == 404) {
      advice = fmt::format("check '{}' and number {}, and that the token may read the project",
                           review_.project,
                           review_.number);
    }
    throw Error(Error::Kind::kEnvironment, fmt::format("{}; {}", fault_text(answer), advice));
  }

  [[noreturn]] void give_up(const WebRequest::Answer& answer,
                            const std::optional<seconds>& wanted) const {
    throw Error(Error::Kind::kTryAgain,
                wanted ? fmt::format("{}; it asks to wait {} s: try again then",
                                     fault_text(answer),
                                     wanted->count())
                       : fault_text(answer) + "; try again later");
  }

  static Review::Comment said(const WebRequest::Answer& answer, bool created) {
    const nlohmann::json comment = results::parse_json(answer.body);
    return {created, results::JsonObject(comment).text_or_empty("html_url")};
  }

  const Review& review_;
  const Interface interface_;
  const std::string& token_;
  const std::atomic<bool>& stop_;
  WebRequest request_;
  std::string marker_;
  std::optional<std::int64_t> owner_;
  seconds waited_{0};
};

}  // namespace

void check_review(const Review& review) {
  static_cast<void>(check_trusted_address(review.api));
  const bool named = review.project.size() <= kMaxProject && is_path_of_names(review.project);
  const auto depth = std::count(review.project.begin(), review.project.end(), '/');
  if (!named || (review.forge == Review::Forge::kGithub && depth != 1)) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("'{}' is no project: write {}",
                    review.project,
                    review.forge == Review::Forge::kGithub ? "OWNER/REPOSITORY"
                                                           : "GROUP/PROJECT or its number"));
  }
  if (review.number < 1) {
    throw Error(Error::Kind::kUser, "the number of a pull or merge request is above 0");
  }
}

Review::Comment put_comment(const Review& review,
                            const std::string& token,
                            const std::string& marker,
                            const std::string& text,
                            const std::atomic<bool>& stop) {
  check_review(review);
  PLUMB_CHECK(text.starts_with(marker));
  if (token.empty() || token.size() > kMaxToken ||
      !std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7F'; })) {
    throw Error(Error::Kind::kUser,
                fmt::format("the token has {} bytes, or characters that no token has: check the "
                            "variable that --token-variable names",
                            token.size()));
  }
  try {
    return Conversation(review, token, stop).put(marker, text);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::kUser) {
      throw;
    }
    throw Error(Error::Kind::kEnvironment,
                fmt::format("'{}' does not answer as its interface should: {}; check --api",
                            review.api,
                            error.what()));
  }
}

}  // namespace plumb::serve
