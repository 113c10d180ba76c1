// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/push_gateway.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "harness/base/error.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::serve {
namespace {

constexpr long kConnectSeconds = 10;
constexpr long kWholeSeconds = 60;
constexpr std::size_t kWordsKept = 500;

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '-' || c == '.';
}

/// Writes RFC 4648's base64url without padding.
std::string base64url(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  unsigned pending = 0;
  unsigned bits = 0;
  for (const char c : bytes) {
    pending = (pending << 8U) | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) {
      text += kDigits[(pending >> (bits - 6)) & 63U];
    }
  }
  if (bits > 0) {
    text += kDigits[(pending << (6 - bits)) & 63U];
  }
  return text;
}

std::size_t keep_words(char* data, std::size_t size, std::size_t count, void* words) {
  std::string& kept = *static_cast<std::string*>(words);
  kept.append(data, std::min(size * count, kWordsKept - std::min(kept.size(), kWordsKept)));
  return size * count;
}

/// Returns a URL without the user and password that it may hold.
std::string without_password(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t at = url.rfind('@');
  return scheme == std::string::npos || at == std::string::npos
             ? url
             : url.substr(0, scheme + 3) + url.substr(at + 1);
}

struct CurlEnd {
  void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};
struct HeadersEnd {
  void operator()(curl_slist* headers) const noexcept { curl_slist_free_all(headers); }
};

}  // namespace

bool is_label_name(std::string_view name) {
  return !name.empty() && !name.starts_with("__") && (name.front() < '0' || name.front() > '9') &&
         std::all_of(
             name.begin(), name.end(), [](char c) { return is_plain(c) && c != '-' && c != '.'; });
}

std::string group_path(const GroupingKey& group) {
  std::string path = "/metrics";
  for (const auto& [name, value] : group) {
    const bool plain = !value.empty() && std::all_of(value.begin(), value.end(), is_plain) &&
                       value != "." && value != "..";
    // The gateway reads a lone '=' as the empty value.
    path += plain ? fmt::format("/{}/{}", name, value)
                  : fmt::format("/{}@base64/{}", name, value.empty() ? "=" : base64url(value));
  }
  return path;
}

void push_to_gateway(const std::string& url, const GroupingKey& group, const std::string& text) {
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("'{}' is not the URL of a gateway: write http://HOST:9091 or https://…", url));
  }
  const std::unique_ptr<CURL, CurlEnd> handle(curl_easy_init());
  PLUMB_CHECK(handle != nullptr);
  const std::unique_ptr<curl_slist, HeadersEnd> headers(
      curl_slist_append(nullptr, "Content-Type: text/plain; version=0.0.4; charset=utf-8"));
  std::string base = url;
  while (base.ends_with('/')) {
    base.pop_back();
  }
  const std::string target = base + group_path(group);
  std::string words;
  std::array<char, CURL_ERROR_SIZE> problem{};
  CURL* const curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, target.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "PUT");
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, text.data());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(text.size()));
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_words);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &words);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, problem.data());
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, kWholeSeconds);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  const CURLcode code = curl_easy_perform(curl);
  if (code != CURLE_OK) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot push to '{}': {}; check the URL and that the gateway runs",
                            without_password(url),
                            problem[0] != '\0' ? problem.data() : curl_easy_strerror(code)));
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (status < 200 || status >= 300) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("the gateway '{}' refused with status {}: {}",
                            without_password(url),
                            status,
                            reporting::sanitize_utf8(words)));
  }
}

}  // namespace plumb::serve
