// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/web_request.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "harness/base/error.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::serve {
namespace {

constexpr long kConnectSeconds = 10;
constexpr long kWholeSeconds = 60;

struct CurlEnd {
  void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};
struct HeadersEnd {
  void operator()(curl_slist* headers) const noexcept { curl_slist_free_all(headers); }
};
struct UrlEnd {
  void operator()(CURLU* url) const noexcept { curl_url_cleanup(url); }
};

/// Body of an answer in progress.
struct Body {
  std::string text;
  std::size_t most = 0;
  bool cut = false;
};

std::size_t keep_body(char* data, std::size_t size, std::size_t count, void* kept) {
  Body& body = *static_cast<Body*>(kept);
  const std::size_t bytes = size * count;
  const std::size_t taken = std::min(bytes, body.most - body.text.size());
  body.text.append(data, taken);
  body.cut = body.cut || taken < bytes;
  return taken;  // Less than all of it ends the transfer.
}

std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  const CURLUcode code = curl_url_get(url, part, &text, 0);
  const std::string result = code == CURLUE_OK ? text : "";
  curl_free(text);
  return result;
}

/// Returns whether a host that curl has read is this machine. It writes an address of IPv4 as four
/// decimal numbers.
bool is_this_machine(const std::string& host) {
  const bool four_numbers = host.find_first_not_of("0123456789.") == std::string::npos &&
                            std::count(host.begin(), host.end(), '.') == 3;
  return host == "localhost" || host == "[::1]" || (host.starts_with("127.") && four_numbers);
}

}  // namespace

WebRequest::Answer send_request(const WebRequest& request) {
  const std::unique_ptr<CURL, CurlEnd> handle(curl_easy_init());
  PLUMB_CHECK(handle != nullptr);
  std::unique_ptr<curl_slist, HeadersEnd> headers;
  for (const std::string& header : request.headers) {
    PLUMB_CHECK(header.find_first_of("\r\n") == std::string::npos);
    curl_slist* const longer = curl_slist_append(headers.get(), header.c_str());
    PLUMB_CHECK(longer != nullptr);
    static_cast<void>(headers.release());
    headers.reset(longer);
  }
  Body body{.text = {}, .most = request.most_bytes, .cut = false};
  std::array<char, CURL_ERROR_SIZE> problem{};
  CURL* const curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (request.method != "GET") {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(
        curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
  if (request.netrc) {
    curl_easy_setopt(curl, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
  }
  if (!request.proxy) {
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
  }
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, problem.data());
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, kWholeSeconds);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  const CURLcode code = curl_easy_perform(curl);
  WebRequest::Answer answer;
  answer.cut = body.cut;
  if (code != CURLE_OK && !(code == CURLE_WRITE_ERROR && body.cut)) {
    answer.problem = problem[0] != '\0' ? problem.data() : curl_easy_strerror(code);
    return answer;
  }
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
  answer.body = std::move(body.text);
  for (const std::string& name : request.wanted) {
    curl_header* found = nullptr;
    if (curl_easy_header(curl, name.c_str(), 0, CURLH_HEADER, -1, &found) == CURLHE_OK) {
      answer.headers[name] = found->value;
    }
  }
  return answer;
}

std::string without_password(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t at = url.rfind('@');
  return scheme == std::string::npos || at == std::string::npos
             ? url
             : url.substr(0, scheme + 3) + url.substr(at + 1);
}

bool check_trusted_address(const std::string& url) {
  const std::unique_ptr<CURLU, UrlEnd> parsed(curl_url());
  PLUMB_CHECK(parsed != nullptr);
  const bool is_url = curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK;
  const std::string scheme = part_of(parsed.get(), CURLUPART_SCHEME);
  const bool here = is_this_machine(part_of(parsed.get(), CURLUPART_HOST));
  const bool has_user = !part_of(parsed.get(), CURLUPART_USER).empty() ||
                        !part_of(parsed.get(), CURLUPART_PASSWORD).empty();
  const bool has_more = url.find_first_of("?#") != std::string::npos;
  if (!is_url || has_user || has_more || !(scheme == "https" || (scheme == "http" && here))) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' is no address that a token may be sent to: write "
                            "https://HOST/PATH, without a user; http is for this machine alone",
                            without_password(url)));
  }
  return here;
}

namespace {

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
  WebRequest request;
  request.method = "PUT";
  request.url = url;
  while (request.url.ends_with('/')) {
    request.url.pop_back();
  }
  request.url += group_path(group);
  request.headers = {"Content-Type: text/plain; version=0.0.4; charset=utf-8"};
  request.body = text;
  request.netrc = true;
  const WebRequest::Answer answer = send_request(request);
  if (answer.status == 0) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot push to '{}': {}; check the URL and that the gateway runs",
                            without_password(url),
                            answer.problem));
  }
  if (answer.status < 200 || answer.status >= 300) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("the gateway '{}' refused with status {}: {}",
                            without_password(url),
                            answer.status,
                            reporting::sanitize_utf8(answer.body)));
  }
}

}  // namespace plumb::serve
