// SPDX-License-Identifier: Apache-2.0
// Private to reporting: the words and numbers of a matrix, as all its formats show them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/report/matrix_report.hpp"

namespace plumb::reporting {

/// Numbered notes: each text once, in the order in which cells refer to them.
class Footnotes {
 public:
  /// Returns the mark of a note: "[3]".
  std::string mark(const std::string& note);
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<std::string> notes_;
};

/// Returns a value with its unit: "12.82 ms", "1.27×", "312.0/s".
[[nodiscard]] std::string value_text(const analysis::Matrix& matrix, double value);
/// Returns a value with half the width of its interval: "12.82 ms ± 1.6 %".
[[nodiscard]] std::string estimate_text(const analysis::Matrix& matrix,
                                        const analysis::Estimate& value);
/// Returns a cell: its value, or why there is none in a few words, and the marks of its notes.
[[nodiscard]] std::string cell_text(const analysis::Matrix& matrix,
                                    const analysis::MatrixCell& cell,
                                    Footnotes& notes);
/// Returns a geometric mean with its interval: "1.21× (1.10× to 1.33×)", or "–".
[[nodiscard]] std::string geometric_mean_text(const analysis::Matrix& matrix,
                                              const std::optional<stats::GeometricMean>& mean);

/// Returns what a matrix shows, on one line.
[[nodiscard]] std::string title_of(const analysis::MatrixReport& report);
/// Returns what all results share, what differs along with the columns, and the rules of the cells,
/// each a sentence.
[[nodiscard]] std::vector<std::string> remarks_on(const analysis::MatrixReport& report);
/// Returns the head of the column of rows, and the rows of means with their names.
[[nodiscard]] std::string rows_head(const analysis::Matrix& matrix);

/// One row of geometric means.
struct MeanRow {
  std::string name;
  std::vector<std::optional<stats::GeometricMean>> means;  ///< one a column
};
/// Returns the rows of means that say something: of each column's own rows, and of the rows that
/// all columns have, where these are others.
[[nodiscard]] std::vector<MeanRow> mean_rows(const analysis::Matrix& matrix);

/// Returns how many times as slow a cell is as what it is compared with: the reference, the bound,
/// the mode plain, or the fastest cell of its row. Below 1 it is faster. Absent: it is compared
/// with nothing.
[[nodiscard]] std::optional<double> slowness(const analysis::Matrix& matrix,
                                             const analysis::MatrixRow& row,
                                             std::size_t column);
/// Returns what slowness() compares with, in words. Empty: nothing.
[[nodiscard]] std::string compared_with(const analysis::Matrix& matrix);

/// Returns what became of a front under its limit: "best within 20.00 ms: batch 8".
[[nodiscard]] std::string best_text(const analysis::ParetoFront& front,
                                    const std::optional<Seconds>& limit);
/// Returns a rate: "312.0/s".
[[nodiscard]] std::string rate_text(double per_second);

}  // namespace plumb::reporting
