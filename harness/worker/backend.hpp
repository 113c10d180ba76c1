// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/units.hpp"
#include "harness/model/graph.hpp"
#include "harness/model/layer_key.hpp"
#include "harness/model/tensor.hpp"
#include "harness/results/environment.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/outcome.hpp"
#include "harness/worker/reproducer.hpp"

namespace plumb {

/// Names one way to execute a key.
struct Variant {
  std::string text;                       ///< canonical "name=value;…", unique for the key
  bool library_choice = false;            ///< what the library picks when asked for nothing
  bool reference_implementation = false;  ///< slow reference: timed only where nothing else exists
  bool channels_last =
      false;  ///< takes and leaves images with their channels last, whatever it is called
  Attributes attributes{};  ///< that are known before it is prepared
};

/// Costs of preparing a program, and its needs.
struct ProgramFacts {
  std::string implementation;       ///< the library's own words
  std::optional<Seconds> creation;  ///< primitive creation, cache cold
  Bytes workspace;
  Bytes activation_bytes;  ///< of one slot, in this program's layouts
  Bytes weight_bytes;
  Attributes attributes{};  ///< that are known from preparing it
};

/// Attributes and readings from observed executions.
struct Observation {
  Attributes attributes;
  Readings readings;
};

/// Layer or model prepared on a backend: allocated, compiled, ready to be timed. Only the timed
/// region is left. Not thread-safe. Lives only inside a worker.
class Program {
 public:
  virtual ~Program() = default;
  [[nodiscard]] virtual ProgramFacts facts() const = 0;

  /// Makes slot `slot` hold its own copy of the operands (dense, in the key's order; absent
  /// operands: empty data), reordered into this program's layouts. With `shared_activations`,
  /// activations (also the outputs) are slot 0's and only the weights are the slot's own. Slots are
  /// bound in order 0, 1, 2…
  virtual void bind(std::size_t slot,
                    std::span<const Tensor> operands,
                    bool shared_activations) = 0;

  /// Writes a slot's activations anew where they lie, without changing them, as the layers before
  /// would: the outputs, which hold something that nobody needs any more, then the inputs.
  virtual void hand_on_activations(std::size_t slot) { static_cast<void>(slot); }

  /// Starts one execution on a slot. Nothing else: no allocation, no check, no reorder.
  virtual void enqueue(std::size_t slot) = 0;
  /// Waits for everything enqueued.
  virtual void synchronize() = 0;

  /// Copies a slot's outputs out, dense, in the key's types.
  [[nodiscard]] virtual std::vector<Tensor> outputs(std::size_t slot) = 0;

  /// Executes a slot once, one step after the other even where the program has them side by side,
  /// and returns how long each took, in the program's order. For a look
  /// inside: what is timed like this is not timed as a whole. Empty: the program has no steps.
  [[nodiscard]] virtual std::vector<Seconds> profile(std::size_t slot) {
    static_cast<void>(slot);
    return {};
  }

  /// Executes a slot once, step by step, and times the `wanted` steps (one flag a step), each by
  /// itself as it finds the machine: before it, what the steps before it used is read in the order
  /// in which they used it last (the most recent `most` bytes), and the step before
  /// is executed once more. Returns a time for every step, in order; zero for those
  /// not wanted. What the slot's outputs hold afterwards is not to be used. Empty: the program has
  /// no steps.
  [[nodiscard]] virtual std::vector<Seconds> profile_in_turn(std::size_t slot,
                                                             const std::vector<bool>& wanted,
                                                             Bytes most) {
    static_cast<void>(slot);
    static_cast<void>(wanted);
    static_cast<void>(most);
    return {};
  }

  /// Returns where an input of slot `slot` lies dense, so that another can be written there between
  /// executions; empty: it can only be bound.
  [[nodiscard]] virtual std::span<std::byte> input_bytes(std::size_t slot, std::size_t operand) {
    static_cast<void>(slot);
    static_cast<void>(operand);
    return {};
  }
  /// Returns where an output of a slot lies dense after synchronize(); empty: outputs() copies it.
  [[nodiscard]] virtual std::span<const std::byte> output_bytes(std::size_t slot,
                                                                std::size_t output) {
    static_cast<void>(slot);
    static_cast<void>(output);
    return {};
  }

  /// Looks at executions of a slot in passes of their own, of which nothing is a row's time: with a
  /// profiler, with counters of the device. Takes about `budget`. What it does not see is absent.
  [[nodiscard]] virtual Observation observe(std::size_t slot, Seconds budget) {
    static_cast<void>(slot);
    static_cast<void>(budget);
    return {};
  }

  /// Measures bringing the plain operands into this program's layouts and the result back, if they
  /// differ.
  [[nodiscard]] virtual std::optional<Seconds> reorder_time() { return std::nullopt; }
};

/// What `prepare` returns: a program, or why there is none.
struct Prepared {
  std::unique_ptr<Program> program;  ///< null unless outcome.ok()
  Outcome outcome;
};

/// Origin of a step of a model's program.
struct StepOrigin {
  std::optional<LayerId> layer;  ///< of the graph that was prepared; absent: of its outputs
  bool reorder = false;          ///< only brings an operand, or an output, into a layout
};

/// What preparing a whole model returns: a program, or why there is none.
struct PreparedModel {
  std::unique_ptr<Program>
      program;                    ///< null unless outcome.ok(); its outputs are the graph's, dense
  std::vector<ValueId> operands;  ///< what bind() takes, in order: inputs and constants
  std::size_t reorders = 0;       ///< changes of layout in each execution
  Bytes reordered;                ///< that they read and write
  std::vector<StepOrigin> steps;  ///< of the program, as profile() counts them
  /// Names for each step those that must have finished before it begins; empty: one after the
  /// other.
  std::vector<std::vector<std::size_t>> needs;
  std::vector<std::string> variants;  ///< by layer of the graph; empty text: nothing is executed
  Bytes memory;                       ///< that one slot will take, weights included
  Outcome outcome;
};

/// Names the variant to use for each key.
using LayerVariants = std::unordered_map<LayerKey, std::string>;

/// Options for preparing a whole model.
struct ModelOptions {
  LayerVariants variants;
  bool parallel_branches = false;  ///< branches side by side, the threads parted between them
};

/// One library on one device. Lives only inside a worker process.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Describes library, device and stack. identity: what a series must not mix ("backend",
  /// "library", "device"…); facts: versions, paths and hashes of the libraries really mapped.
  [[nodiscard]] virtual Environment describe() const = 0;

  /// Returns whether the backend has any way to execute the key, and if not, why.
  [[nodiscard]] virtual Outcome supports(const LayerKey& key) const = 0;

  /// Lists every way, best first in the library's own ranking. Empty only if unsupported.
  [[nodiscard]] virtual std::vector<Variant> variants(const LayerKey& key) const = 0;

  /// Prepares one way. Library refusals and lack of memory are outcomes; nothing is thrown for
  /// them.
  [[nodiscard]] virtual Prepared prepare(const LayerKey& key, const std::string& variant) = 0;

  /// Parts the worker's threads between so many lanes that execute side by side, at least one each:
  /// what the calling thread prepares and executes from now on has one lane's share.
  virtual void part_threads(std::size_t lanes) { static_cast<void>(lanes); }
  /// Assigns to the calling thread lane `lane`'s share of these threads.
  virtual void enter_lane(std::size_t lane) { static_cast<void>(lane); }

  /// Prepares a whole model: each layer by the variant given for its key, otherwise as the library
  /// does it when it is asked for nothing; results handed on in the layouts they are left in.
  /// Allocates nothing; a model whose memory exceeds the machine's is refused with the number, and
  /// with parallel_branches one that has no branches for the threads there are.
  [[nodiscard]] virtual PreparedModel prepare_model(const Graph& graph,
                                                    const ModelOptions& options) {
    static_cast<void>(graph);
    static_cast<void>(options);
    PreparedModel none;
    none.outcome = {Outcome::Kind::kUnsupported, "this backend does not execute whole models"};
    return none;
  }

  /// Writes the source of a program that does what rows did, with the library alone; it executes
  /// the variants once. Throws Error{kUser} where it has none, saying for what it has.
  [[nodiscard]] virtual Reproducer reproduce(const ReproducerRequest& request) {
    static_cast<void>(request);
    throw Error(Error::Kind::kUser, "this backend writes no reproducers");
  }
};

}  // namespace plumb
