// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/http_server.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"

namespace plumb::serve {
namespace {

std::string little_endian(std::uint32_t value) {
  std::string bytes;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    bytes += static_cast<char>((value >> shift) & 0xFFU);
  }
  return bytes;
}

}  // namespace

struct ExpositionWriter::Deflater {
  Deflater() {
    constexpr int kRaw = -15;
    constexpr int kMemory = 8;
    PLUMB_CHECK(
        deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kRaw, kMemory, Z_DEFAULT_STRATEGY) == Z_OK);
  }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  Deflater(Deflater&&) = delete;
  Deflater& operator=(Deflater&&) = delete;
  ~Deflater() { deflateEnd(&stream); }

  void add(const std::string& text, int flush, std::string& out) {
    std::array<char, 65536> buffer{};
    // zlib does not write to what it reads.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_out = static_cast<uInt>(buffer.size());
      const int code = deflate(&stream, flush);
      PLUMB_CHECK(code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR);
      out.append(buffer.data(), buffer.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  }

  z_stream stream{};
};

ExpositionWriter::ExpositionWriter()
    : deflater_(std::make_unique<Deflater>()), part_(std::make_shared<ExpositionWriter::Part>()) {}

ExpositionWriter::~ExpositionWriter() = default;

void ExpositionWriter::add(prometheus::MetricFamily&& family) {
  part_->series += family.metric.size();
  std::vector<prometheus::MetricFamily> one;
  one.push_back(std::move(family));
  std::ostringstream out;
  serializer_.Serialize(out, one);
  const std::string text = std::move(out).str();
  part_->plain += text;
  part_->checksum = static_cast<std::uint32_t>(
      crc32_z(part_->checksum, reinterpret_cast<const Bytef*>(text.data()), text.size()));
  deflater_->add(text, Z_NO_FLUSH, part_->deflated);
}

std::shared_ptr<const ExpositionWriter::Part> ExpositionWriter::finish(bool last) {
  deflater_->add({}, last ? Z_FINISH : Z_SYNC_FLUSH, part_->deflated);
  return std::exchange(part_, nullptr);
}

BodyPieces plain_body(const std::shared_ptr<const ExpositionWriter::Part>& first,
                      const std::shared_ptr<const ExpositionWriter::Part>& last) {
  return {{first, &first->plain}, {last, &last->plain}};
}

BodyPieces gzip_body(const std::shared_ptr<const ExpositionWriter::Part>& first,
                     const std::shared_ptr<const ExpositionWriter::Part>& last) {
  using namespace std::string_literals;
  static const auto header =
      std::make_shared<const std::string>("\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"s);
  const auto checksum = static_cast<std::uint32_t>(
      crc32_combine(first->checksum, last->checksum, static_cast<z_off_t>(last->plain.size())));
  const std::size_t size = first->plain.size() + last->plain.size();
  return {header,
          {first, &first->deflated},
          {last, &last->deflated},
          std::make_shared<const std::string>(little_endian(checksum) +
                                              little_endian(static_cast<std::uint32_t>(size)))};
}

HttpServer::Address parse_listen_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  HttpServer::Address address;
  bool good = colon != std::string::npos && colon > 0;
  if (good) {
    address.host = text.substr(0, colon);
    if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']') {
      address.host = address.host.substr(1, address.host.size() - 2);
    } else {
      good = address.host.find_first_of(":[]") == std::string::npos;
    }
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + colon + 1, end, address.port);
    good = good && parsed.ec == std::errc() && parsed.ptr == end;
  }
  if (!good) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' is not an address to listen on: write HOST:PORT, such as "
                            "127.0.0.1:9779 or [::1]:9779",
                            text));
  }
  return address;
}

std::string to_text(const HttpServer::Address& address) {
  return address.host.find(':') == std::string::npos
             ? fmt::format("{}:{}", address.host, address.port)
             : fmt::format("[{}]:{}", address.host, address.port);
}

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

constexpr const char* kNothing =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

bool accepts_gzip(beast::string_view encodings) {
  for (const auto& [name, parameters] : http::ext_list(encodings)) {
    if (!beast::iequals(name, "gzip")) {
      continue;
    }
    const bool refused = std::any_of(parameters.begin(), parameters.end(), [](const auto& each) {
      return beast::iequals(each.first, "q") &&
             each.second.find_first_of("123456789") == beast::string_view::npos;
    });
    return !refused;
  }
  return false;
}

/// One connection. It lives while an operation on it is in progress.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket,
          const HttpServer::Handler& handler,
          const HttpServer::Limits& limits,
          std::shared_ptr<std::atomic<std::size_t>> open)
      : stream_(std::move(socket)), handler_(handler), limits_(limits), open_(std::move(open)) {
    ++*open_;
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;
  ~Session() { --*open_; }

  void read() {
    parser_.emplace();
    parser_->header_limit(limits_.header_bytes);
    parser_->body_limit(limits_.body_bytes);
    stream_.expires_after(limits_.request);
    http::async_read(stream_,
                     buffer_,
                     *parser_,
                     [self = shared_from_this()](beast::error_code error, std::size_t) {
                       self->on_read(error);
                     });
  }

 private:
  void on_read(beast::error_code error) {
    if (!error) {
      answer();
    } else if (error == http::error::header_limit) {
      refuse(431, "the headers are too large\n");
    } else if (error == http::error::body_limit || error == http::error::unexpected_body) {
      refuse(413, "requests with a body are not accepted\n");
    } else if (error.category() == http::make_error_code(http::error::end_of_stream).category() &&
               error != http::error::end_of_stream && error != http::error::partial_message) {
      refuse(400, "the request is not HTTP\n");
    }
    // Else the client is gone or too slow: the connection ends with this object.
  }

  void refuse(unsigned status, const char* text) {
    keep_alive_ = false;
    head_ = false;
    send(text_reply(status, text));
  }

  void answer() {
    const auto& request = parser_->get();
    keep_alive_ = request.keep_alive();
    head_ = request.method() == http::verb::head;
    const bool post = request.method() == http::verb::post && limits_.body_bytes > 0;
    if (!head_ && !post && request.method() != http::verb::get) {
      send(text_reply(405, "only GET and HEAD are supported\n"));
      return;
    }
    if (!post && !request.body().empty()) {
      refuse(413, "requests with a body are not accepted\n");
      return;
    }
    HttpServer::Request ours;
    ours.post = post;
    if (post) {
      ours.body = request.body();
      const auto authorization = request[http::field::authorization];
      ours.authorization.assign(authorization.data(), authorization.size());
    }
    ours.target.assign(request.target().data(), request.target().size());
    ours.accepts_gzip = accepts_gzip(request[http::field::accept_encoding]);
    stream_.expires_never();  // The answer may take its time; sending it may not.
    try {
      handler_(ours, [self = shared_from_this()](HttpServer::Reply reply) {
        asio::post(self->stream_.get_executor(),
                   [self, reply = std::move(reply)]() mutable { self->send(std::move(reply)); });
      });
    } catch (const std::exception& error) {
      spdlog::error("a request could not be answered: {}", error.what());
      send(text_reply(500, "the request could not be answered: see the server's log\n"));
    }
  }

  void send(HttpServer::Reply reply) {
    body_ = std::move(reply.body);
    std::size_t size = 0;
    for (const auto& piece : body_) {
      size += piece->size();
    }
    header_ = {};
    header_.version(11);
    header_.result(reply.status);
    header_.keep_alive(keep_alive_);
    header_.set(http::field::content_type, reply.type);
    header_.content_length(size);
    header_.set(http::field::cache_control, "no-store");
    header_.set("Content-Security-Policy", reply.policy.empty() ? kNothing : reply.policy);
    header_.set("X-Content-Type-Options", "nosniff");
    header_.set("Referrer-Policy", "no-referrer");
    header_.set(http::field::vary, "Accept-Encoding");
    if (reply.status == 405) {
      header_.set(http::field::allow, "GET, HEAD");
    }
    if (reply.gzip) {
      header_.set(http::field::content_encoding, "gzip");
    }
    if (head_) {
      body_.clear();
    }
    stream_.expires_after(limits_.answer);
    serializer_.emplace(header_);
    http::async_write_header(
        stream_, *serializer_, [self = shared_from_this()](beast::error_code error, std::size_t) {
          if (!error) {
            self->send_body();
          }
        });
  }

  void send_body() {
    std::vector<asio::const_buffer> buffers;
    buffers.reserve(body_.size());
    for (const auto& piece : body_) {
      buffers.emplace_back(piece->data(), piece->size());
    }
    asio::async_write(
        stream_, buffers, [self = shared_from_this()](beast::error_code error, std::size_t) {
          self->body_.clear();
          if (!error && self->keep_alive_) {
            self->read();
          } else if (!error) {
            beast::error_code ignored;
            self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
          }
        });
  }

  beast::tcp_stream stream_;
  const HttpServer::Handler& handler_;
  const HttpServer::Limits& limits_;
  // Shared: a page's thread may be the last to hold a connection.
  std::shared_ptr<std::atomic<std::size_t>> open_;
  beast::flat_buffer buffer_{65536};
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::empty_body> header_;
  std::optional<http::response_serializer<http::empty_body>> serializer_;
  BodyPieces body_;
  bool keep_alive_ = false;
  bool head_ = false;
};

}  // namespace

struct HttpServer::Listener {
  Listener(Handler answer, const HttpServer::Limits& most)
      : handler(std::move(answer)), limits(most) {}

  void accept() {
    acceptor.async_accept([this](beast::error_code error, tcp::socket socket) {
      if (error) {
        // Perhaps no descriptor is free: other connections may end meanwhile.
        pause.expires_after(std::chrono::milliseconds(100));
        pause.async_wait([this](beast::error_code stopped) {
          if (!stopped) {
            accept();
          }
        });
        return;
      }
      if (*open < limits.connections) {
        std::make_shared<Session>(std::move(socket), handler, limits, open)->read();
      }
      accept();
    });
  }

  void watch(const std::atomic<bool>& stop) {
    if (stop.load()) {
      context.stop();
      return;
    }
    watchdog.expires_after(std::chrono::milliseconds(100));
    watchdog.async_wait([this, &stop](beast::error_code error) {
      if (!error) {
        watch(stop);
      }
    });
  }

  Handler handler;
  HttpServer::Limits limits;
  std::shared_ptr<std::atomic<std::size_t>> open = std::make_shared<std::atomic<std::size_t>>(0);
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  asio::steady_timer pause{context};
  asio::steady_timer watchdog{context};
};

HttpServer::Reply text_reply(unsigned status, std::string text) {
  HttpServer::Reply reply;
  reply.status = status;
  reply.body = {std::make_shared<const std::string>(std::move(text))};
  return reply;
}

HttpServer::HttpServer(const HttpServer::Address& address,
                       Handler handler,
                       const HttpServer::Limits& limits)
    : listener_(std::make_unique<Listener>(std::move(handler), limits)) {
  beast::error_code error;
  tcp::resolver resolver(listener_->context);
  const auto found =
      resolver.resolve(address.host, std::to_string(address.port), tcp::resolver::passive, error);
  if (error || found.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("cannot listen on '{}': {}; write --listen HOST:PORT",
                            to_text(address),
                            error.message()));
  }
  const tcp::endpoint endpoint = found.begin()->endpoint();
  tcp::acceptor& acceptor = listener_->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) {
    acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  }
  if (!error) {
    acceptor.bind(endpoint, error);
  }
  if (!error) {
    acceptor.listen(tcp::acceptor::max_listen_connections, error);
  }
  if (error) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot listen on '{}': {}; choose another address with --listen "
                            "HOST:PORT, or stop the program that listens there",
                            to_text(address),
                            error.message()));
  }
  listener_->accept();
}

HttpServer::~HttpServer() = default;

HttpServer::Address HttpServer::address() const {
  const tcp::endpoint endpoint = listener_->acceptor.local_endpoint();
  return {endpoint.address().to_string(), endpoint.port()};
}

bool HttpServer::is_loopback() const {
  return listener_->acceptor.local_endpoint().address().is_loopback();
}

void HttpServer::run(const std::atomic<bool>& stop) {
  listener_->watch(stop);
  listener_->context.run();
}

}  // namespace plumb::serve
