// SPDX-License-Identifier: Apache-2.0
// BERT-base on sequences that share a sample: each gets the numbers that it gets alone.
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "runners/engine/exec/ready_model.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/onednn/onednn_backend.hpp"
#include "suites/zoo/zoo.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::onednn {
namespace {

constexpr std::size_t kHidden = 768;
using Inputs = std::map<std::string, std::vector<double>>;

/// Executes a model of the zoo with the weights of its seed and given inputs. Returns its outputs.
std::vector<std::vector<double>> execute(const char* name,
                                         std::int64_t batch,
                                         const std::map<std::string, std::int64_t>& sizes,
                                         const Inputs& inputs) {
  const TemporaryFolder folder;
  worker::ExecuteRequest request;
  request.path = folder.path() / "model.onnx";
  request.dtype = "f32";
  std::ofstream file(request.path, std::ios::binary);
  zoo::find(name)->build(batch, sizes).SerializeToOstream(&file);
  file.close();
  engine::RequestedModel model(request);
  const auto backend = make_onednn_backend();
  engine::ReadyModel ready = engine::prepare_mode(*backend, model, {});
  EXPECT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
  model.fill();
  std::vector<model::Tensor> operands;
  EXPECT_TRUE(model.operands(ready.plan.fused, ready.prepared.operands, operands).ok());
  const model::Graph& graph = ready.plan.fused.graph;
  std::size_t given = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto found = inputs.find(graph.values[ready.prepared.operands[i]].name);
    if (found != inputs.end()) {
      operands[i] = engine::tensor_from(operands[i].type, found->second);
      ++given;
    }
  }
  EXPECT_EQ(given, inputs.size());
  ready.prepared.program->bind(0, operands, false);
  ready.prepared.program->enqueue(0);
  ready.prepared.program->synchronize();
  std::vector<std::vector<double>> outputs;
  for (const model::Tensor& output : ready.prepared.program->outputs(0)) {
    outputs.push_back(engine::read_numbers(output));
  }
  return outputs;
}

/// Largest difference of some rows of numbers, relative to the largest magnitude expected.
double difference(const std::vector<double>& found,
                  std::size_t row,
                  const std::vector<double>& expected,
                  std::size_t expected_row,
                  std::size_t rows) {
  double largest = 0.0;
  double scale = 0.0;
  for (std::size_t i = 0; i < rows * kHidden; ++i) {
    const double wanted = expected.at(expected_row * kHidden + i);
    largest = std::max(largest, std::abs(found.at(row * kHidden + i) - wanted));
    scale = std::max(scale, std::abs(wanted));
  }
  return largest / scale;
}

TEST(PackedSequences, get_the_numbers_that_they_get_alone) {
  const std::vector<std::size_t> lengths{5, 4, 2};
  constexpr std::size_t kPadded = 5;   // tokens of a sample with one sequence
  constexpr std::size_t kPacked = 12;  // of the sample with all, whose last token is padding
  Inputs padded;
  Inputs packed;
  std::uint64_t token = 1;
  for (std::size_t sequence = 0; sequence < lengths.size(); ++sequence) {
    packed["sequence_starts"].push_back(static_cast<double>(packed["input_ids"].size()));
    for (std::size_t place = 0; place < kPadded; ++place) {
      const bool real = place < lengths[sequence];
      token = token * 48271 % 2147483647;
      const auto word = static_cast<double>(token % 30522);
      const auto type = static_cast<double>(token / 7 % 2);
      padded["input_ids"].push_back(word);
      padded["token_type_ids"].push_back(type);
      padded["attention_mask"].push_back(real ? 1.0 : 0.0);
      if (real) {
        packed["input_ids"].push_back(word);
        packed["token_type_ids"].push_back(type);
        packed["sequence_ids"].push_back(static_cast<double>(sequence + 1));
        packed["position_ids"].push_back(static_cast<double>(place));
      }
    }
  }
  for (const char* const name : {"input_ids", "token_type_ids", "sequence_ids", "position_ids"}) {
    packed[name].resize(kPacked, 0.0);
  }
  const auto alone = execute("bert-base", 3, {{"sequence", kPadded}}, padded);
  const auto together =
      execute("bert-base-packed", 1, {{"sequence", kPacked}, {"packed", 3}}, packed);
  std::size_t start = 0;
  for (std::size_t sequence = 0; sequence < lengths.size(); ++sequence) {
    EXPECT_LT(difference(together[0], start, alone[0], sequence * kPadded, lengths[sequence]), 1e-4)
        << sequence;
    EXPECT_LT(difference(together[1], sequence, alone[1], sequence, 1), 1e-4) << sequence;
    start += lengths[sequence];
  }
  // Positions that go on, and sequences that see each other, would show.
  Inputs without_restart = packed;
  for (std::size_t i = 0; i < kPacked; ++i) {
    without_restart["position_ids"][i] = static_cast<double>(i);
  }
  Inputs without_blocks = packed;
  std::fill_n(without_blocks["sequence_ids"].begin(), kPacked - 1, 1.0);
  for (const Inputs& wrong : {without_restart, without_blocks}) {
    const auto found =
        execute("bert-base-packed", 1, {{"sequence", kPacked}, {"packed", 3}}, wrong);
    EXPECT_GT(difference(found[1], 1, alone[1], 1, 1), 1e-2);
  }
}

}  // namespace
}  // namespace plumb::onednn
