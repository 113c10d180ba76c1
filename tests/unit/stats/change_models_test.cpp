// SPDX-License-Identifier: Apache-2.0
//
// What competes with steps: trends, levels that wander, two states, and changes of the variance.
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "harness/stats/change_points.hpp"
#include "tests/support/series_family.hpp"

namespace plumb::stats {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kSeries = 200;

/// Seeded series of shapes that are not steps.
class Shapes {
 public:
  double normal() { return normal_(random_); }

  std::vector<double> walk(std::size_t length, double jump) {
    std::vector<double> values;
    double level = 1000.0;
    for (std::size_t i = 0; i < length; ++i) {
      level += normal() + (i == length / 2 ? jump : 0.0);
      values.push_back(level);
    }
    return values;
  }

  /// Two states four apart, noise 0.4; redrawn with probability 0.5 by the share of the higher.
  std::vector<double> states(std::size_t length, double share_after, double high_after) {
    std::vector<double> values;
    bool high = false;
    for (std::size_t i = 0; i < length; ++i) {
      const bool later = i >= length / 2;
      if (uniform_(random_) < 0.5) {
        high = uniform_(random_) < (later ? share_after : 0.3);
      }
      values.push_back(100.0 + (high ? (later ? high_after : 4.0) : 0.0) + 0.4 * normal());
    }
    return values;
  }

 private:
  std::mt19937_64 random_{1};
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

TEST(ChangeModels, a_drift_is_creep_with_its_slope) {
  SeriesFamily source(NoiseFamily::kGaussian, 1);
  int creeping = 0;
  int stepping = 0;
  double slope = 0.0;
  for (int i = 0; i < kSeries; ++i) {
    const Detection found = detect_changes(with_drift(source.draw(300), 0.03));
    creeping += found.creep ? 1 : 0;
    stepping += found.change_points.empty() ? 0 : 1;
    slope += found.creep ? found.creep->slope : 0.0;
  }
  EXPECT_GE(creeping, kSeries * 90 / 100);
  EXPECT_LE(stepping, kSeries * 10 / 100);
  EXPECT_NEAR(slope / creeping, 0.01, 0.001) << "3 in 300 points";
}

TEST(ChangeModels, a_step_on_a_drift_is_one_step) {
  SeriesFamily source(NoiseFamily::kGaussian, 3);
  int exact = 0;
  for (int i = 0; i < kSeries; ++i) {
    std::vector<double> values = with_drift(source.draw(200), 0.1);
    for (std::size_t k = 100; k < values.size(); ++k) {
      values[k] *= 1.15;
    }
    const Detection found = detect_changes(values);
    if (found.change_points.size() == 1 && found.change_points[0].index == 100 && found.creep) {
      ++exact;
      EXPECT_NEAR(found.change_points[0].after / found.change_points[0].before, 1.15, 0.05);
    }
  }
  EXPECT_GE(exact, kSeries * 95 / 100);
}

TEST(ChangeModels, smooth_curves_are_no_staircases) {
  Shapes shapes;
  std::size_t steps = 0;
  for (int i = 0; i < 50; ++i) {
    std::vector<double> growth;
    std::vector<double> square;
    for (int k = 0; k < 400; ++k) {
      const double t = k / 400.0;
      growth.push_back(100.0 + 50.0 / (1.0 + std::exp(4.0 - 8.0 * t)) + shapes.normal());
      square.push_back(100.0 + 80.0 * t * t + 0.05 * shapes.normal());
    }
    steps += detect_changes(growth).change_points.size();
    steps += detect_changes(square).change_points.size();
  }
  EXPECT_LE(steps, 10U);
}

TEST(ChangeModels, a_wandering_level_has_only_its_jump) {
  Shapes shapes;
  std::size_t quiet = 0;
  int found = 0;
  for (int i = 0; i < kSeries; ++i) {
    quiet += detect_changes(shapes.walk(200, 0.0)).change_points.size();
    for (const ChangePoint& point : detect_changes(shapes.walk(200, 10.0)).change_points) {
      found += point.index == 100 ? 1 : 0;
    }
  }
  EXPECT_LE(quiet, kSeries / 20U);
  EXPECT_GE(found, kSeries * 80 / 100);
}

TEST(ChangeModels, the_share_of_a_state_changes) {
  Shapes shapes;
  int found = 0;
  for (int i = 0; i < kSeries; ++i) {
    const Detection detection = detect_changes(shapes.states(400, 0.8, 4.0));
    EXPECT_THAT(detection.change_points, SizeIs(::testing::Le(1U)));
    for (const Detection::StateChange& change : detection.state_changes) {
      found += change.kind == Detection::StateChange::Kind::kHighShare &&
                       change.index + 40 >= 200 && change.index <= 240 &&
                       change.after > change.before + 0.2
                   ? 1
                   : 0;
    }
  }
  EXPECT_GE(found, kSeries * 80 / 100);
}

TEST(ChangeModels, the_level_of_one_state_changes) {
  Shapes shapes;
  int found = 0;
  for (int i = 0; i < kSeries; ++i) {
    for (const Detection::StateChange& change :
         detect_changes(shapes.states(400, 0.3, 5.0)).state_changes) {
      found += change.kind == Detection::StateChange::Kind::kHighLevel &&
                       change.index + 15 >= 200 && change.index <= 215
                   ? 1
                   : 0;
    }
  }
  EXPECT_GE(found, kSeries * 80 / 100);
}

TEST(ChangeModels, quiet_states_do_not_change) {
  Shapes shapes;
  std::size_t false_changes = 0;
  for (int i = 0; i < kSeries; ++i) {
    const Detection detection = detect_changes(shapes.states(300, 0.3, 4.0));
    EXPECT_TRUE(detection.two_states);
    false_changes += detection.state_changes.size() + detection.change_points.size();
  }
  EXPECT_LE(false_changes, kSeries / 20U);
}

TEST(ChangeModels, variance_is_looked_at_only_if_asked) {
  SeriesFamily source(NoiseFamily::kGaussian, 5);
  int found = 0;
  std::size_t quiet = 0;
  for (int i = 0; i < kSeries; ++i) {
    std::vector<double> values = with_steps(source.draw(200), {}, StepPattern::kUp, 0.0);
    quiet += detect_changes(values, true).variance_changes->size();
    for (std::size_t k = 100; k < values.size(); ++k) {
      values[k] = 100.0 + 2.5 * (values[k] - 100.0);
    }
    EXPECT_FALSE(detect_changes(values).variance_changes.has_value());
    const Detection detection = detect_changes(values, true);
    for (const ChangePoint& change : *detection.variance_changes) {
      found += change.index >= 90 && change.index <= 110 && change.after > 1.7 * change.before;
    }
  }
  EXPECT_GE(found, kSeries * 90 / 100);
  EXPECT_LE(quiet, kSeries / 50U);
}

TEST(ChangeModels, whole_numbers_and_long_histories) {
  std::mt19937_64 random(7);
  std::poisson_distribution<int> few(6);
  std::poisson_distribution<int> more(11);
  int hits = 0;
  std::size_t quiet = 0;
  for (int i = 0; i < kSeries; ++i) {
    std::vector<double> values;
    for (int k = 0; k < 200; ++k) {
      values.push_back(few(random));
    }
    quiet += detect_changes(values).change_points.size();
    for (std::size_t k = 100; k < values.size(); ++k) {
      values[k] = more(random);
    }
    for (const ChangePoint& point : detect_changes(values).change_points) {
      hits += point.index >= 95 && point.index <= 105 ? 1 : 0;
    }
  }
  EXPECT_LE(quiet, kSeries / 20U);
  EXPECT_GE(hits, kSeries * 85 / 100);
  SeriesFamily source(NoiseFamily::kGaussian, 9);
  const std::vector<std::size_t> places{4000};
  const auto found = detect_changes(with_steps(source.draw(5000), places, StepPattern::kUp, 3.0));
  ASSERT_THAT(found.change_points, SizeIs(1));
  EXPECT_NEAR(static_cast<double>(found.change_points[0].index), 4000.0, 2.0);
  EXPECT_THAT(found.state_changes, IsEmpty());
}

}  // namespace
}  // namespace plumb::stats
