// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace plumb {

/// Returns for each look the p-value below which a one-sided test of this level in all rejects,
/// when its false alarms are spent in proportion to the data (Lan and DeMets, Biometrika 70, 1983,
/// with the spending function α·t of Kim and DeMets, Biometrika 74, 1987). `information` is the
/// share of all data at each look: ascending, the last one 1. By the recursion of Armitage,
/// McPherson and Rowe (JRSS A 132, 1969) for normal increments; the limits are meant for p-values,
/// whatever test they come from (Jennison and Turnbull, Group Sequential Methods, 2000, §3.8 and
/// §19). Pure.
[[nodiscard]] std::vector<double> spending_limits(const std::vector<double>& information,
                                                  double level);

/// Overall p-values of a test that looks several times at growing data. Construction takes a tenth
/// of a second. Pure.
class AlphaSpending {
 public:
  /// `information` as in spending_limits().
  explicit AlphaSpending(const std::vector<double>& information);

  /// Returns the least level at which a look with this p-value rejects: the p-value of the whole
  /// procedure, as far as this look goes. The least over all looks holds at any of them.
  [[nodiscard]] double total_p(std::size_t look, double p) const;

 private:
  std::vector<double> levels_;               ///< ascending
  std::vector<std::vector<double>> limits_;  ///< by level, then look
};

}  // namespace plumb
