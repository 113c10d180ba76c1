// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/exposition.hpp"

#include <zlib.h>

#include <array>
#include <sstream>
#include <utility>

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
    : deflater_(std::make_unique<Deflater>()), part_(std::make_shared<ExpositionPart>()) {}

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

std::shared_ptr<const ExpositionPart> ExpositionWriter::finish(bool last) {
  deflater_->add({}, last ? Z_FINISH : Z_SYNC_FLUSH, part_->deflated);
  return std::exchange(part_, nullptr);
}

BodyPieces plain_body(const std::shared_ptr<const ExpositionPart>& first,
                      const std::shared_ptr<const ExpositionPart>& last) {
  return {{first, &first->plain}, {last, &last->plain}};
}

BodyPieces gzip_body(const std::shared_ptr<const ExpositionPart>& first,
                     const std::shared_ptr<const ExpositionPart>& last) {
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

}  // namespace plumb::serve
