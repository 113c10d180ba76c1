// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/results/profile/named_profile.hpp"
#include "harness/results/run.hpp"

namespace plumb::store {

/// Lines of an export, and the chain of digests through them. The digest of a line covers it and
/// all lines before it, so that the last one covers the whole. It guards against damage, not
/// forgery.
class ExportLines {
 public:
  /// Identity of a row across stores: the run that measured it and its position there.
  struct RowReference {
    results::RunId run;
    std::int64_t position = 0;
  };

  /// First line of an export. The lines of format 1 have no digests.
  /// Format 3 is format 2 with profiles.
  struct Header {
    int format = 2;
  };

  /// One row, with its place and checksum.
  struct Row {
    RowReference place;
    std::int64_t checksum = 0;
    results::Measurement row;
  };

  /// Rows of earlier runs that a run reuses. A run may have several such lines.
  struct Reuse {
    results::RunId run;
    std::vector<RowReference> rows;
  };

  /// One derived record. `record.inputs` is empty. The references are in `inputs`.
  struct Derived {
    results::DerivedRecord record;
    std::vector<RowReference> inputs;
  };

  /// Last line of an export. Without it, the export was cut off.
  struct End {
    std::int64_t lines = 0;  ///< before this one
  };

  /// Returns the line, a JSON object, with its digest as last field.
  [[nodiscard]] std::string seal(std::string_view line);
  /// Returns the line without its digest. Throws Error{kUser} if it has none, or if it or a line
  /// before it was altered.
  [[nodiscard]] std::string unseal(std::string_view line);

  /// Returns whether a line ends with a digest.
  [[nodiscard]] static bool is_sealed(std::string_view line);

 private:
  std::uint64_t digest_ = 0;
};

/// One line. A run, with its state and tags, comes before its rows.
using ExportLine = std::variant<ExportLines::Header,
                                results::RunRecord,
                                ExportLines::Row,
                                ExportLines::Reuse,
                                ExportLines::Derived,
                                results::StoredProfile,
                                ExportLines::End>;

/// Returns one line of an export without its digest: a JSON object without a line break
/// (docs/reference/store.md).
[[nodiscard]] std::string to_json(const ExportLine& line);

/// Parses one line without its digest. Throws Error{kUser} that names the field at fault.
[[nodiscard]] ExportLine parse_export_line(std::string_view text);

/// Kind of the record that marks a run of which something came from an export of format 1.
inline constexpr const char* kUnguardedRecord = "unguarded";

/// Checks that the payload of a derived record has the fields that readers of its kind need. A kind
/// that this version does not know must be JSON. Throws Error{kUser} with the kind, the subject and
/// the fault.
void check_derived_payload(const results::DerivedRecord& record);

}  // namespace plumb::store
