// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/student_t.hpp"

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace plumb::stats {
namespace {

constexpr double kManyDegrees = 1e6;  // as good as infinite

}  // namespace

double two_sided_p(double t, double freedom) {
  if (freedom > kManyDegrees) {
    return 2.0 * boost::math::cdf(boost::math::complement(boost::math::normal(), std::abs(t)));
  }
  return 2.0 *
         boost::math::cdf(boost::math::complement(boost::math::students_t(freedom), std::abs(t)));
}

double t_quantile(double probability, double freedom) {
  return freedom > kManyDegrees
             ? boost::math::quantile(boost::math::normal(), probability)
             : boost::math::quantile(boost::math::students_t(freedom), probability);
}

}  // namespace plumb::stats
