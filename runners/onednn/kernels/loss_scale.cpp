// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runners/onednn/exec/machine.hpp"
#include "runners/onednn/exec/variant_builder.hpp"
#include "runners/onednn/kernels/builtin_kernel.hpp"

namespace plumb::onednn {
namespace {

/// Part of a gradient that one thread reads.
struct GradientPiece {
  std::size_t operand;
  std::size_t begin;
  std::size_t count;
};

/// Returns whether no number is infinite or none. It has no branch for single numbers, so that the
/// compiler vectorizes it.
bool are_finite(const std::byte* numbers, std::size_t count) {
  constexpr std::uint32_t kExponent = 0x7F800000U;
  std::uint32_t bad = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, numbers + i * sizeof bits, sizeof bits);
    bad |= static_cast<std::uint32_t>((bits & kExponent) == kExponent);
  }
  return bad == 0;
}

/// Lists the pieces of all gradients of a loss scale's layer.
std::vector<GradientPiece> pieces_of(const model::LayerSpec& spec) {
  constexpr std::size_t kFirstGradient = 2;
  constexpr std::size_t kPiece = std::size_t{1} << 18;  // 1 MiB
  std::vector<GradientPiece> pieces;
  for (std::size_t operand = kFirstGradient; operand < spec.inputs.size(); ++operand) {
    const auto count = static_cast<std::size_t>(element_count(*spec.inputs[operand]));
    for (std::size_t begin = 0; begin < count; begin += kPiece) {
      pieces.push_back({operand, begin, std::min(kPiece, count - begin)});
    }
  }
  return pieces;
}

float read_number(const std::byte* number) {
  float value = 0.0F;
  std::memcpy(&value, number, sizeof value);
  return value;
}

void write_number(std::byte* number, float value) {
  std::memcpy(number, &value, sizeof value);
}

}  // namespace

void adapt_loss_scale(const model::LayerSpec& spec,
                      const Device& /*device*/,
                      VariantBuilder::List& list) {
  for (const std::optional<model::TensorType>& input : spec.inputs) {
    require(input && input->dtype == model::DataType::kF32, spec, "gradients are checked in f32");
  }
  for (const model::TensorType& output : spec.outputs) {
    require(output.dtype == model::DataType::kF32, spec, "the scale is f32");
  }
  const auto backoff = static_cast<float>(spec.real("backoff"));
  const auto growth = static_cast<float>(spec.real("growth"));
  const auto interval = static_cast<float>(spec.integer("interval"));
  add_own(list, spec, "loss_scale", [=, pieces = pieces_of(spec)](const KernelOperands& operands) {
    std::vector<char> finite(pieces.size());
    run_parallel(pieces.size(), [&](std::size_t i) {
      const GradientPiece& piece = pieces[i];
      const std::byte* const from = operands.input(piece.operand) + piece.begin * sizeof(float);
      finite[i] = are_finite(from, piece.count) ? 1 : 0;
    });
    const bool all = std::all_of(finite.begin(), finite.end(), [](char each) { return each != 0; });
    const float scale = read_number(operands.input(0));
    const float steps = read_number(operands.input(1)) + 1.0F;
    const bool grows = all && steps == interval;
    const float next = all ? (grows ? scale * growth : scale) : scale * backoff;
    write_number(operands.output(0), grows && !std::isfinite(next) ? scale : next);
    write_number(operands.output(1), all && !grows ? steps : 0.0F);
    write_number(operands.output(2), all ? 1.0F : 0.0F);
  });
}

}  // namespace plumb::onednn
