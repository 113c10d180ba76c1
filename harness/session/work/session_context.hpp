// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include "harness/base/units.hpp"
#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Source of the built-in models that suites and runs name. Dimensions in `options` are a model's
/// axes. Every function throws Error{kUser} for an unknown name or axis, with the nearest one.
class ModelSource {
 public:
  ModelSource() = default;
  ModelSource(const ModelSource&) = delete;
  ModelSource& operator=(const ModelSource&) = delete;
  ModelSource(ModelSource&&) = delete;
  ModelSource& operator=(ModelSource&&) = delete;
  virtual ~ModelSource() = default;

  /// Returns every axis of a model with its extent.
  [[nodiscard]] virtual std::map<std::string, std::int64_t> axes(
      const std::string& name, const model::ReadOptions& options) const = 0;
  [[nodiscard]] virtual model::Graph graph(const std::string& name,
                                           const model::ReadOptions& options) const = 0;
  /// Returns a model as the bytes of an ONNX file.
  [[nodiscard]] virtual std::string onnx(const std::string& name,
                                         const model::ReadOptions& options) const = 0;
};

/// Reads a model by its path, or a built-in one by its name. Throws Error{kUser} if it is neither.
[[nodiscard]] inline model::Graph load_graph(const ModelSource& models,
                                             const std::string& name,
                                             const model::ReadOptions& options) {
  std::error_code error;
  if (std::filesystem::is_regular_file(name, error)) {
    return model::read_model(name, options);
  }
  return models.graph(name, options);
}

/// Display of the progress of a session. For one thread.
class ProgressDisplay {
 public:
  /// Progress of a measurement.
  struct Progress {
    std::size_t done = 0;
    std::size_t total = 0;
    std::string unit = "layers";  ///< what is counted
    std::string current;          ///< what is measured now, short
    Seconds elapsed{};
    std::optional<Seconds> left;  ///< absent until it can be estimated
  };

  /// One stage of a session on the display, from its construction to its end.
  class Stage {
   public:
    explicit Stage(ProgressDisplay& display) : display_(display) {}
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;
    Stage(Stage&&) = delete;
    Stage& operator=(Stage&&) = delete;
    ~Stage() { display_.end(); }

    void show(const Progress& progress) { display_.show(progress); }

   private:
    ProgressDisplay& display_;
  };

  ProgressDisplay() = default;
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;
  ProgressDisplay(ProgressDisplay&&) = delete;
  ProgressDisplay& operator=(ProgressDisplay&&) = delete;
  virtual ~ProgressDisplay() = default;

  virtual void show(const Progress& progress) = 0;
  /// Ends what was shown: other output may follow.
  virtual void end() = 0;
};

/// References to what a session works with. All of it outlives the session.
struct SessionContext {
  /// References to a store and to the source of the models that its runs measured.
  struct Archive {
    const store::Store& store;
    const ModelSource& models;
  };

  store::Store& store;
  const ModelSource& models;
  const std::atomic<bool>& stop;  ///< set when the user wants the session to end
  ProgressDisplay& progress;
};

}  // namespace plumb::session
