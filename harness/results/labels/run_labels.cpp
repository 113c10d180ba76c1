// SPDX-License-Identifier: Apache-2.0
#include "harness/results/labels/run_labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"

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

namespace {

constexpr std::string_view kPrefix = "label.";
constexpr std::size_t kMaxName = 32;
constexpr std::size_t kMaxValue = 200;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName &&
         std::all_of(text.begin(), text.end(), [](char one) {
           return (one >= 'a' && one <= 'z') || (one >= '0' && one <= '9') || one == '_';
         });
}

bool is_value(std::string_view text) {
  return !text.empty() && text.size() <= kMaxValue &&
         std::none_of(text.begin(), text.end(), [](char one) {
           return static_cast<unsigned char>(one) < ' ' || one == '\x7F';
         });
}

/// Variables of a job that name the same thing; the first that is set counts.
struct JobVariables {
  const char* label;
  std::array<const char*, 5> names;
};

// GitHub checks out a merge of a pull request, so GITHUB_SHA names that merge.
constexpr std::array<JobVariables, 3> kOfJobs{
    {{"commit", {"GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "BUILDKITE_COMMIT", nullptr}},
     {"branch",
      {"GITHUB_HEAD_REF",
       "GITHUB_REF_NAME",
       "CI_COMMIT_REF_NAME",
       "BRANCH_NAME",
       "BUILDKITE_BRANCH"}},
     {"pr", {"CI_MERGE_REQUEST_IID", "CHANGE_ID", "BUILDKITE_PULL_REQUEST", nullptr, nullptr}}}};

/// Returns N of "refs/pull/N/merge", as GitHub names the checkout of a pull request.
std::optional<std::string> pull_request(const std::string& reference) {
  constexpr std::string_view kBegin = "refs/pull/";
  if (!reference.starts_with(kBegin)) {
    return std::nullopt;
  }
  const std::string number =
      reference.substr(kBegin.size(), reference.find('/', kBegin.size()) - kBegin.size());
  return number;
}

}  // namespace

RunLabels run_labels(const Environment& environment) {
  RunLabels labels;
  for (const auto& [name, value] : environment.facts) {
    if (name.starts_with(kPrefix)) {
      labels.emplace(name.substr(kPrefix.size()), value);
    }
  }
  return labels;
}

void add_labels(const RunLabels& labels, Environment& environment) {
  for (const auto& [name, value] : labels) {
    environment.facts.insert_or_assign(std::string(kPrefix) + name, value);
  }
}

RunLabels parse_labels(std::span<const std::string> texts, RunLabels defaults) {
  RunLabels labels = std::move(defaults);
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (equals == std::string::npos || !is_name(name)) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' is not a label: write NAME=VALUE, such as commit=4f2a9c0; a "
                              "name has up to {} of a-z, 0-9 and _",
                              text,
                              kMaxName));
    }
    const std::string value = text.substr(equals + 1);
    if (value.empty()) {
      labels.erase(name);
    } else if (is_value(value)) {
      labels.insert_or_assign(name, value);
    } else {
      throw Error(Error::Kind::kUser,
                  fmt::format("the label '{}' has a value of {} bytes: up to {} are allowed, and "
                              "no control characters",
                              name,
                              value.size(),
                              kMaxValue));
    }
  }
  return labels;
}

RunLabels labels_of_job(
    const std::function<std::optional<std::string>(const char* name)>& variable) {
  RunLabels labels;
  const auto offer = [&](const char* label, const std::optional<std::string>& value) {
    if (value && is_value(*value) && *value != "false") {  // Buildkite's word for no pull request
      labels.try_emplace(label, *value);
    }
  };
  for (const JobVariables& job : kOfJobs) {
    for (const char* const name : job.names) {
      if (name != nullptr) {
        offer(job.label, variable(name));
      }
    }
  }
  offer("pr", pull_request(variable("GITHUB_REF").value_or("")));
  return labels;
}

bool has_labels(const Environment& environment, const RunLabels& wanted) {
  const RunLabels labels = run_labels(environment);
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& one) {
    const auto found = labels.find(one.first);
    return found != labels.end() && found->second.starts_with(one.second);
  });
}

std::string commit_of(const Environment& environment) {
  return fact_of(environment.facts, std::string(kPrefix) + "commit");
}

std::string to_text(const RunLabels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text += fmt::format(
        "{}{}={}", text.empty() ? "" : " ", name, name == "commit" ? short_commit(value) : value);
  }
  return text;
}

namespace {

constexpr const char* kMethod = "method";

}  // namespace

bool has_mark(const Environment& environment, std::string_view mark) {
  const auto method = environment.identity.find(kMethod);
  return method != environment.identity.end() && method->second.ends_with(mark);
}

void add_mark(std::string_view mark, Environment& environment) {
  environment.identity[kMethod] += mark;
}

Environment without_mark(Environment environment, std::string_view mark) {
  if (has_mark(environment, mark)) {
    std::string& method = environment.identity.at(kMethod);
    method.resize(method.size() - mark.size());
  }
  return environment;
}

}  // namespace plumb::results
