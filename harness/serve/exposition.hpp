// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace plumb::serve {

/// A part of a text exposition, plain and compressed. Compressed it is raw deflate that ends on a
/// byte. Immutable: made once and sent many times.
struct ExpositionPart {
  std::string plain;
  std::string deflated;
  std::uint32_t checksum = 0;  ///< CRC-32 of `plain`
  std::size_t series = 0;
};

/// Writer of one part, family by family. So the text is in memory, but never all families.
class ExpositionWriter {
 public:
  ExpositionWriter();
  ExpositionWriter(const ExpositionWriter&) = delete;
  ExpositionWriter& operator=(const ExpositionWriter&) = delete;
  ExpositionWriter(ExpositionWriter&&) = delete;
  ExpositionWriter& operator=(ExpositionWriter&&) = delete;
  ~ExpositionWriter();

  void add(prometheus::MetricFamily&& family);
  /// Ends the part and returns it. `last` ends the compressed stream as well. The writer cannot be
  /// used afterwards.
  [[nodiscard]] std::shared_ptr<const ExpositionPart> finish(bool last);

 private:
  struct Deflater;
  prometheus::TextSerializer serializer_;
  std::unique_ptr<Deflater> deflater_;
  std::shared_ptr<ExpositionPart> part_;
};

/// A response body in pieces that are sent one after the other.
using BodyPieces = std::vector<std::shared_ptr<const std::string>>;

/// Joins two parts without copying or compressing them again. Only the second is the last.
[[nodiscard]] BodyPieces plain_body(const std::shared_ptr<const ExpositionPart>& first,
                                    const std::shared_ptr<const ExpositionPart>& last);
/// Joins two parts likewise into one gzip stream (RFC 1952).
[[nodiscard]] BodyPieces gzip_body(const std::shared_ptr<const ExpositionPart>& first,
                                   const std::shared_ptr<const ExpositionPart>& last);

}  // namespace plumb::serve
