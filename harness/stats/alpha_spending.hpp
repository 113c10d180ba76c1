// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace plumb::stats {

/// Returns for each look the p-value below which a one-sided test with repeated looks rejects.
/// `level` is the level of the test in all. `information` is the share of all data at each look:
/// ascending, the last one 1.
///
/// The false alarms are spent in proportion to the data (Lan and DeMets, Biometrika 70, 1983), with
/// the spending function α·t (Kim and DeMets, Biometrika 74, 1987). The recursion is that of
/// Armitage, McPherson and Rowe (JRSS A 132, 1969) for normal increments. The limits apply to
/// p-values, whatever the test (Jennison and Turnbull, Group Sequential Methods, 2000, §3.8 and
/// §19). Pure.
[[nodiscard]] std::vector<double> spending_limits(const std::vector<double>& information,
                                                  double level);

/// Overall p-values of a test that looks several times at growing data. Construction takes a tenth
/// of a second. Pure.
class AlphaSpending {
 public:
  /// Computes the limits of a grid of levels, for `information` as in spending_limits().
  explicit AlphaSpending(const std::vector<double>& information);

  /// Returns the least level at which a look with this p-value rejects. It is the p-value of the
  /// whole procedure, as far as this look goes. The least over all looks is valid at each of them.
  [[nodiscard]] double total_p(std::size_t look, double p) const;

 private:
  std::vector<double> levels_;               ///< ascending
  std::vector<std::vector<double>> limits_;  ///< by level, then look
};

}  // namespace plumb::stats
