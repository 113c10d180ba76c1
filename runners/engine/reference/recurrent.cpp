// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "harness/model/key/spec_check.hpp"
#include "runners/engine/random_stream.hpp"
#include "runners/engine/reference/operators.hpp"
#include "runners/engine/reference/recurrence.hpp"

namespace plumb::engine::reference {
namespace {

void copy_rows(const std::vector<double>& from, std::size_t row, std::size_t hidden, double* to) {
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(row * hidden), hidden, to);
}

model::RecurrentShape checked_shape(const model::LayerSpec& spec) {
  const std::optional<model::SpecProblem> problem = model::check_spec(spec);
  require(!problem, spec, problem ? problem->text : std::string());
  return model::recurrent_shape(spec);
}

/// Part of a layer that is computed to take samples of it.
struct Part {
  std::vector<std::size_t> entries;  ///< of the batch
  std::size_t steps = 0;             ///< from the beginning of each direction
};

/// Chooses a part that takes at most a million multiply-accumulates for each sample. It is all
/// steps of some entries or, for long sequences, the first steps of one. Outputs that only the last
/// step writes need all steps.
Part affordable_part(const model::LayerSpec& spec, std::size_t count, const RandomStream& random) {
  constexpr double kMacsASample = 1e6;
  const model::RecurrentShape shape = model::recurrent_shape(spec);
  const double one = static_cast<double>(shape.directions * shape.gates) *
                     static_cast<double>(shape.hidden) *
                     static_cast<double>(shape.input + shape.hidden);
  const double affordable =
      std::max(1.0, kMacsASample * static_cast<double>(count) / std::max(one, 1.0));
  const auto steps = static_cast<double>(shape.steps);
  const bool whole = steps <= affordable || spec.text("outputs")[0] != 'y';
  Part part;
  part.steps = static_cast<std::size_t>(whole ? steps : affordable);
  const auto batch = static_cast<std::size_t>(shape.batch);
  const double fitting = std::min(affordable / std::max(steps, 1.0), static_cast<double>(batch));
  const std::size_t entries = std::max<std::size_t>(1, static_cast<std::size_t>(fitting));
  for (std::size_t i = 0; i < entries && batch > 0; ++i) {
    part.entries.push_back(entries == 1 ? static_cast<std::size_t>(random.below(0, batch))
                                        : i * (batch - 1) / (entries - 1));
  }
  return part;
}

}  // namespace

std::vector<Numbers> recurrent(const model::LayerSpec& spec, Operands operands) {
  const model::RecurrentShape shape = checked_shape(spec);
  const RecurrentPlaces places(spec);
  const auto hidden = static_cast<std::size_t>(shape.hidden);
  std::vector<std::size_t> entries(static_cast<std::size_t>(shape.batch));
  std::iota(entries.begin(), entries.end(), std::size_t{0});
  const std::string& letters = spec.text("outputs");
  std::vector<Numbers> outputs;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    outputs.push_back(zeros_like_output(spec, i));
  }
  for (std::size_t d = 0; d < static_cast<std::size_t>(shape.directions); ++d) {
    Recurrence recurrence(spec, operands, d, entries);
    for (std::int64_t step = 0; step < shape.steps; ++step) {
      const std::size_t position = recurrence.advance();
      for (std::size_t n = 0; letters[0] == 'y' && n < entries.size(); ++n) {
        copy_rows(recurrence.hidden(),
                  n,
                  hidden,
                  outputs[0].values.data() + places.sequence(position, d, n));
      }
    }
    for (std::size_t i = 0; i < letters.size(); ++i) {
      for (std::size_t n = 0; letters[i] != 'y' && n < entries.size(); ++n) {
        copy_rows(letters[i] == 'h' ? recurrence.hidden() : recurrence.cell(),
                  n,
                  hidden,
                  outputs[i].values.data() + places.state(d, n));
      }
    }
  }
  return outputs;
}

std::vector<SampledElement> recurrent_samples(const model::LayerSpec& spec,
                                              Operands operands,
                                              std::size_t count,
                                              std::uint64_t seed) {
  const model::RecurrentShape shape = checked_shape(spec);
  const RecurrentPlaces places(spec);
  const RandomStream random(seed);
  const Part part = affordable_part(spec, count, random);
  const auto hidden = static_cast<std::size_t>(shape.hidden);
  const std::size_t rows = std::max<std::size_t>(1, part.steps * part.entries.size()) *
                           static_cast<std::size_t>(shape.directions);
  const std::size_t each = std::min(hidden, std::max<std::size_t>(16, count / rows));
  std::vector<SampledElement> samples;
  std::uint64_t draw = 1;
  const auto add = [&](std::size_t output, std::size_t place, const double* row) {
    const auto first = static_cast<std::size_t>(random.below(draw++, hidden));
    for (std::size_t i = 0; i < each; ++i) {
      const std::size_t at = (first + i * (hidden / each)) % hidden;
      samples.push_back({output, place + at, row[at]});
    }
  };
  const std::string& letters = spec.text("outputs");
  for (std::size_t d = 0; d < static_cast<std::size_t>(shape.directions); ++d) {
    Recurrence recurrence(spec, operands, d, part.entries);
    for (std::size_t step = 0; step < part.steps; ++step) {
      const std::size_t position = recurrence.advance();
      for (std::size_t n = 0; letters[0] == 'y' && n < part.entries.size(); ++n) {
        add(0,
            places.sequence(position, d, part.entries[n]),
            recurrence.hidden().data() + n * hidden);
      }
    }
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const bool known = letters[i] != 'y' && part.steps == static_cast<std::size_t>(shape.steps);
      for (std::size_t n = 0; known && n < part.entries.size(); ++n) {
        const std::vector<double>& state =
            letters[i] == 'h' ? recurrence.hidden() : recurrence.cell();
        add(i, places.state(d, part.entries[n]), state.data() + n * hidden);
      }
    }
  }
  return samples;
}

}  // namespace plumb::engine::reference
