// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/ulid.hpp"
#include "harness/results/execution.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/worker/client/worker_process.hpp"
#include "harness/worker/protocol/stack.hpp"
#include "tests/support/result_rows.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/session/no_models.hpp"

namespace plumb::session {

/// Display that shows nothing.
class NoProgress final : public ProgressDisplay {
 public:
  void show(const Progress&) override {}
  void end() override {}
};

/// Test with a store and a suite of one small model, which real or misbehaving workers
/// profile.
class ProfiledModels : public testing::Test {
 protected:
  ProfiledModels() {
    const std::filesystem::path file = folder_.path() / "product.onnxtxt";
    std::ofstream(file) << "<ir_version: 8, opset_import: [\"\": 17]>\n"
                           "product (float[N,64,64] x, float[64,64] w) => (y) {\n"
                           "  a = MatMul(x, w)\n  y = Relu(a)\n}\n";
    suite_.name = "product";
    suite_.models.resize(1);
    suite_.models[0].name = "product";
    suite_.models[0].path = file;
    models_ = load_models(source_, suite_, {});
    subject_ = analysis::subject_of(models_[0].instance);
  }

  /// Skips a test where there is no oneDNN.
  void need_onednn() {
    try {
      static_cast<void>(worker::WorkerProcess(worker("onednn")).describe());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  static worker::WorkerProcess::Options worker(const std::string& backend,
                                               std::map<std::string, std::string> variables = {}) {
    worker::WorkerProcess::Options options;
    if (backend == "onednn") {
      options.stack = worker::load_stack("default", "");
    }
    options.stack.name = "default";
    options.stack.backend = backend;
    options.stack.variables = std::move(variables);
    return options;
  }

  /// Begins a run.
  results::RunId begin_run() {
    results::RunHeader header = test::header(new_ulid());
    store_->begin_run(header);
    return header.id;
  }

  /// Keeps that a run timed the model in a mode.
  void execute(const results::RunId& run, const std::string& mode, Seconds creation = Seconds(0)) {
    results::Execution execution;
    execution.mode = mode;
    execution.row = test::row({"model:product"}, 100.0);
    execution.row.creation = creation;
    put_run_record(*store_, run, results::kExecutionRecord, subject_, to_json(execution));
  }

  [[nodiscard]] SessionContext context() { return {*store_, source_, stop_, progress_}; }

  TemporaryFolder folder_;
  std::unique_ptr<store::Store> store_ =
      store::open_store("sqlite:" + (folder_.path() / "store.db").string());
  NoModels source_;
  NoProgress progress_;
  std::atomic<bool> stop_{false};
  suite::ResolvedSuite suite_;
  std::vector<PlannedModel> models_;
  std::string subject_;
};

}  // namespace plumb::session
