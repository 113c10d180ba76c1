// SPDX-License-Identifier: Apache-2.0
// Arithmetic of training: last batches, packed sequences, exchanged gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <sstream>
#include <string>

#include "harness/analysis/training/training_costs.hpp"
#include "harness/base/error.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "tests/unit/analysis/row_builder.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::analysis {
namespace {

using ::testing::HasSubstr;

template <typename Function>
std::string refusal(const Function& function) {
  try {
    static_cast<void>(function());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    return error.what();
  }
  return "no refusal";
}

TEST(LastBatch, of_imagenet_at_67456_a_step_wastes_497_samples) {
  // NVIDIA, "The Full Stack Optimization Powering NVIDIA MLPerf Training v2.0 Performance": 527
  // nodes with a global batch of 67,456.
  const LastBatch last = last_batch(1'281'167, 67'456);
  EXPECT_EQ(last.steps, 19);
  EXPECT_EQ(last.wasted, 497);
  EXPECT_NEAR(last.share(), 0.0004, 0.00005);
  EXPECT_EQ(67'456 % 527, 0);
}

TEST(LastBatch, wastes_nothing_where_the_batch_divides_the_set) {
  EXPECT_EQ(last_batch(1000, 10).wasted, 0);
  EXPECT_EQ(last_batch(1000, 10).steps, 100);
  EXPECT_EQ(last_batch(1, 1000).wasted, 999);
}

TEST(LastBatch, least_wasteful_multiples_come_first) {
  // What one node of eight GPUs with 16 images each takes: 527 nodes are the best from 500 to 560.
  const std::vector<LastBatch> best =
      least_wasteful_batches(1'281'167, 500 * 128, 560 * 128, 128, 3);
  ASSERT_EQ(best.size(), 3U);
  EXPECT_EQ(best[0].batch, 67'456);
  EXPECT_LE(best[0].share(), best[1].share());
  EXPECT_LE(best[1].share(), best[2].share());
  EXPECT_THAT(refusal([] { return least_wasteful_batches(10, 5, 4, 1, 3); }), HasSubstr("range"));
  EXPECT_THAT(refusal([] { return last_batch(10, 0); }), HasSubstr("batch of 0"));
}

TEST(SequencePacking, reads_lengths_and_counts) {
  std::istringstream in("# length count\n128 10\n\n 64,5\n128 1\n");
  EXPECT_EQ(read_lengths(in, "lengths"), (LengthHistogram{{64, 5}, {128, 11}}));
  std::istringstream wrong("128 10\n64\n");
  EXPECT_THAT(refusal([&] { return read_lengths(wrong, "lengths"); }),
              HasSubstr("lengths:2: '64'"));
  std::istringstream negative("-4 10\n");
  EXPECT_THAT(refusal([&] { return read_lengths(negative, "f"); }), HasSubstr("f:1:"));
}

TEST(SequencePacking, pads_every_sequence_without_a_packer) {
  const Packing none = pack_sequences({{128, 3}, {512, 1}}, {512, 3}, Packing::Packer::kNone);
  EXPECT_EQ(none.samples, 4);
  EXPECT_EQ(none.tokens, 3 * 128 + 512);
  EXPECT_DOUBLE_EQ(none.padding(), 1.0 - 896.0 / 2048.0);
}

TEST(SequencePacking, packs_a_histogram_worked_by_hand) {
  // 512 | 400+100 | 256+256, once each; then 200 and 56 more sequences of 100.
  const LengthHistogram lengths{{512, 1}, {400, 1}, {256, 2}, {100, 4}};
  const Packing best = pack_sequences(lengths, {512, 3}, Packing::Packer::kBestFit);
  EXPECT_EQ(best.samples, 4);  // 512 | 400 100 | 256 256 | 100 100 100
  EXPECT_EQ(best.sequences, 8);
  EXPECT_DOUBLE_EQ(best.sequences_per_sample(), 2.0);
  EXPECT_DOUBLE_EQ(best.padding(), 1.0 - 1824.0 / 2048.0);
  EXPECT_EQ(pack_sequences({{170, 300}}, {512, 3}, Packing::Packer::kBestFit).samples, 100);
  EXPECT_EQ(pack_sequences({{170, 300}}, {512, 2}, Packing::Packer::kWorstFit).samples, 150);
}

TEST(SequencePacking, every_packer_keeps_all_sequences_within_the_limits) {
  std::mt19937 random(5);
  std::uniform_int_distribution<std::int64_t> length(1, 512);
  std::uniform_int_distribution<std::int64_t> count(1, 1000);
  for (int round = 0; round < 50; ++round) {
    LengthHistogram lengths;
    for (int i = 0; i < 40; ++i) {
      lengths[length(random)] += count(random);
    }
    std::int64_t unpacked = 0;
    for (const Packing::Packer packer :
         {Packing::Packer::kNone, Packing::Packer::kWorstFit, Packing::Packer::kBestFit}) {
      const Packing::Limits limits{512, 3};
      const Packing packing = pack_sequences(lengths, limits, packer);
      LengthHistogram found;
      for (const Packing::Pack& pack : packing.packs) {
        ASSERT_GT(pack.count, 0);
        ASSERT_LE(pack.lengths.size(), 3U);
        std::int64_t tokens = 0;
        for (const std::int64_t each : pack.lengths) {
          found[each] += pack.count;
          tokens += each;
        }
        ASSERT_LE(tokens, limits.tokens);
      }
      EXPECT_EQ(found, lengths) << to_text(packer);
      unpacked = packer == Packing::Packer::kNone ? packing.samples : unpacked;
      EXPECT_LE(packing.samples, unpacked);
      EXPECT_GE(packing.samples * limits.tokens, packing.tokens);
    }
  }
}

TEST(SequencePacking, a_batch_of_three_samples_has_three_to_nine_sequences) {
  // The same article: samples of up to 512 tokens and three sequences. A batch of two or three
  // needs five to seven graphs.
  const LengthHistogram lengths{{1, 1}, {512, 1}};
  const Packing::GraphCounts three = count_graphs(lengths, {512, 3}, 3);
  EXPECT_EQ(three.fewest_sequences, 3);
  EXPECT_EQ(three.most_sequences, 9);
  EXPECT_EQ(three.packed, 7);
  const Packing::GraphCounts two = count_graphs(lengths, {512, 3}, 2);
  EXPECT_EQ(two.packed, 5);
  EXPECT_EQ(two.unpadded, 2 * 511 + 1);
}

TEST(SequencePacking, refuses_what_cannot_be_packed) {
  EXPECT_THAT(refusal([] {
                return pack_sequences({{600, 1}}, {512, 3}, Packing::Packer::kNone);
              }),
              HasSubstr("600 tokens is longer than a sample of 512"));
  EXPECT_THAT(refusal([] {
                return pack_sequences({}, {512, 3}, Packing::Packer::kNone);
              }),
              HasSubstr("no sequences"));
  EXPECT_THAT(refusal([] {
                return pack_sequences({{1, 1}}, {512, 0}, Packing::Packer::kNone);
              }),
              HasSubstr("at least one"));
}

Seconds ms(double milliseconds) {
  return Seconds(milliseconds * 1e-3);
}

TEST(GradientExchange, hides_behind_the_rest_of_the_backward_pass) {
  const Bytes mib{1 << 20};
  const std::vector<ExchangeSchedule::Layer> layers{
      {ms(10), {}}, {ms(4), mib}, {ms(4), mib}, {ms(4), {}}, {ms(4), mib}, {ms(2), {}, true}};
  // A mebibyte takes 2 ms and 1 ms of latency; a bucket holds one.
  const ExchangeSchedule::Communication communication{ms(1), {(1 << 20) / 2e-3}, mib};
  const ExchangeSchedule schedule = schedule_exchanges(layers, communication);
  ASSERT_EQ(schedule.exchanges.size(), 3U);
  EXPECT_NEAR(schedule.exchanges[0].begin.count(), 14e-3, 1e-12);
  EXPECT_NEAR(schedule.exchanges[1].begin.count(), 18e-3, 1e-12);
  EXPECT_NEAR(schedule.computation.count(), 28e-3, 1e-12);
  EXPECT_NEAR(schedule.communication.count(), 9e-3, 1e-12);
  EXPECT_NEAR(schedule.after_each_other().count(), 37e-3, 1e-12);
  EXPECT_NEAR(schedule.overlapped.count(), 31e-3, 1e-12);  // only the last exchange is waited for
}

TEST(GradientExchange, a_slow_link_is_what_the_step_waits_for) {
  const std::vector<ExchangeSchedule::Layer> layers{{ms(1), {1000}}, {ms(1), {1000}}};
  const ExchangeSchedule schedule = schedule_exchanges(layers, {ms(0), {1e5}, {1000}});
  EXPECT_NEAR(schedule.overlapped.count(), 1e-3 + 20e-3, 1e-12);
  EXPECT_NEAR(schedule.exchanges[1].begin.count(), schedule.exchanges[0].end.count(), 1e-12);
  const ExchangeSchedule together = schedule_exchanges(layers, {ms(0), {1e5}, {2000}});
  EXPECT_EQ(together.exchanges.size(), 1U);
  EXPECT_THAT(refusal([&] {
                return schedule_exchanges(layers, {ms(0), {0.0}, {1000}});
              }),
              HasSubstr("rate"));
}

TEST(GradientExchange, evaluation_beside_the_next_epoch_costs_only_the_last_one) {
  const Seconds epoch(60.0);
  EXPECT_DOUBLE_EQ(time_with_evaluations(10, epoch, Seconds(50.0)).count(), 1100.0);
  EXPECT_DOUBLE_EQ(time_beside_evaluations(10, epoch, Seconds(50.0)).count(), 650.0);
  // Where evaluation takes longer than an epoch, it is what one waits for.
  EXPECT_DOUBLE_EQ(time_beside_evaluations(10, epoch, Seconds(80.0)).count(), 60.0 + 800.0);
}

TEST(MeasuredStep, takes_the_fastest_variant_where_the_librarys_choice_was_not_timed) {
  rewrite::GraphSketch sketch;
  const model::Graph model = sketch.build({sketch.gemm(sketch.input({4, 8}), 3)});
  const model::Graph step =
      rewrite::training_step(model, {}, rewrite::TrainingStep::Optimizer{}).training.graph;
  RowBuilder rows;
  std::set<std::string> keys;
  std::string not_timed;
  for (const model::Layer& layer : step.layers) {
    if (layer.role != model::Layer::Role::kCompute || !keys.insert(layer.key.text).second) {
      continue;
    }
    if (layer.spec.op == "reduce" && not_timed.empty()) {
      not_timed = layer.key.text;
      results::Measurement& slow = rows.choice(layer.key, "impl=ref:any", 0.0);
      slow.outcome = {results::Outcome::Kind::kSkipped, "reference code"};
      slow.reference_implementation = true;
      rows.add(layer.key, "impl=plumb:reduce", 7.0);
    } else {
      rows.choice(layer.key, "impl=jit", 2.0);
    }
  }
  ASSERT_FALSE(not_timed.empty());
  const MeasuredStep measured = measured_step(step, ResultSet(rows.rows()));
  EXPECT_EQ(measured.why_not, "");
  for (model::LayerId id = 0; id < step.layers.size(); ++id) {
    if (step.layers[id].role == model::Layer::Role::kCompute) {
      EXPECT_DOUBLE_EQ(measured.times[id].count(),
                       step.layers[id].key.text == not_timed ? 7e-6 : 2e-6);
    }
  }
}

}  // namespace
}  // namespace plumb::analysis
