// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/units.hpp"

namespace plumb::analysis {

/// Identity of one analysed instance of a model. Results of different instances are never mixed.
struct ModelInstance {
  std::string model;
  std::int64_t batch = 1;
  std::string dtype = "f32";
  std::map<std::string, std::int64_t> dims = {};  ///< its other axes by name: sequence, image…
  std::string training = {};  ///< of a step, as rewrite::parse_step_choice() reads it; empty:
                              ///< inference

  auto operator<=>(const ModelInstance&) const = default;
};

/// Returns the model's name, and of a step of training also its optimiser.
[[nodiscard]] std::string full_name(const ModelInstance& instance);

/// Returns what a step of training leaves as it is, and its loss where one was asked for. Empty:
/// neither.
[[nodiscard]] std::string step_note(const ModelInstance& instance);

/// Returns how many samples one execution takes in: those of all micro-batches of a step.
[[nodiscard]] std::int64_t samples_of_step(const ModelInstance& instance);

/// Returns the memory that a step of training may take. Absent: there is no cap.
[[nodiscard]] std::optional<Bytes> memory_cap_of(const ModelInstance& instance);

/// Returns an instance on one line: with the separator ", ", "bert-base, batch 1, f32, sequence
/// 128", and of a step of training also "training by sgd".
[[nodiscard]] std::string to_text(const ModelInstance& instance, std::string_view separator);

/// Returns the subject of an instance's derived records:
/// "bert-base|1|f32|sequence=128|training=sgd".
[[nodiscard]] std::string subject_of(const ModelInstance& instance);
/// Parses what subject_of() wrote. Absent: the text is no subject.
[[nodiscard]] std::optional<ModelInstance> parse_subject(std::string_view subject);

}  // namespace plumb::analysis
