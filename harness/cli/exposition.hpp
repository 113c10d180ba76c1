// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace plumb {

/// A part of a text exposition, plain and compressed (raw deflate, ending on a byte). Immutable,
/// made once and sent many times.
struct ExpositionPart {
  std::string plain;
  std::string deflated;
  std::uint32_t checksum = 0;  ///< CRC-32 of `plain`
  std::size_t series = 0;
};

/// Writes families as they come, so that the text and never all families are in memory.
class ExpositionWriter {
 public:
  ExpositionWriter();
  ExpositionWriter(const ExpositionWriter&) = delete;
  ExpositionWriter& operator=(const ExpositionWriter&) = delete;
  ExpositionWriter(ExpositionWriter&&) = delete;
  ExpositionWriter& operator=(ExpositionWriter&&) = delete;
  ~ExpositionWriter();

  void add(prometheus::MetricFamily&& family);
  /// Ends the part; `last` ends the compressed stream as well. The writer is of no more use.
  [[nodiscard]] std::shared_ptr<const ExpositionPart> finish(bool last);

 private:
  struct Deflater;
  prometheus::TextSerializer serializer_;
  std::unique_ptr<Deflater> deflater_;
  std::shared_ptr<ExpositionPart> part_;
};

/// A response body in pieces that are sent one after the other.
using BodyPieces = std::vector<std::shared_ptr<const std::string>>;

/// Joins two parts, of which only the second is the last, without copying or compressing again.
[[nodiscard]] BodyPieces plain_body(const std::shared_ptr<const ExpositionPart>& first,
                                    const std::shared_ptr<const ExpositionPart>& last);
/// The same as one gzip stream (RFC 1952).
[[nodiscard]] BodyPieces gzip_body(const std::shared_ptr<const ExpositionPart>& first,
                                   const std::shared_ptr<const ExpositionPart>& last);

}  // namespace plumb
