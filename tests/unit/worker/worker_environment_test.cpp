// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/worker/client/worker_process.hpp"

namespace plumb::worker {
namespace {

using testing::ElementsAre;

TEST(WorkerEnvironment, drops_what_tunes_libraries_and_adds_the_setup) {
  const std::vector<const char*> surroundings{"PATH=/bin",
                                              "OMP_NUM_THREADS=64",
                                              "ONEDNN_MAX_CPU_ISA=SSE41",
                                              "DNNL_VERBOSE=1",
                                              "KMP_AFFINITY=compact",
                                              "GOMP_SPINCOUNT=0",
                                              "MKL_NUM_THREADS=2",
                                              "CUDNN_LOGLEVEL_DBG=3",
                                              "CUBLAS_WORKSPACE_CONFIG=:16:8",
                                              "CUBLASLT_LOG_LEVEL=5",
                                              "NVIDIA_TF32_OVERRIDE=0",
                                              "PLUMB_WORKER_CHANNEL=7",
                                              "PLUMB_WORKER_PATH=/workers",
                                              "no equals sign",
                                              nullptr};
  Stack stack;
  stack.libraries = {"/a/liba.so", "/b/libb.so"};
  EXPECT_THAT(worker_environment(stack, 1, 3, surroundings.data()),
              ElementsAre("OMP_DYNAMIC=false",
                          "OMP_NUM_THREADS=1",
                          "PATH=/bin",
                          "PLUMB_WORKER_CHANNEL=3",
                          "PLUMB_WORKER_PATH=/workers"));
}

TEST(WorkerEnvironment, binds_several_threads_to_cores) {
  EXPECT_THAT(worker_environment({}, 4, 3, nullptr),
              ElementsAre("OMP_DYNAMIC=false",
                          "OMP_NUM_THREADS=4",
                          "OMP_PLACES=cores",
                          "OMP_PROC_BIND=close",
                          "PLUMB_WORKER_CHANNEL=3"));
}

TEST(WorkerEnvironment, puts_the_stacks_folders_first_and_lets_its_variables_win) {
  const std::vector<const char*> surroundings{"LD_LIBRARY_PATH=/usr/x", "A=ours", nullptr};
  Stack stack;
  stack.folders = {"/new", "/old"};
  stack.variables = {{"A", "theirs"}, {"OMP_PROC_BIND", "spread"}};
  const std::vector<std::string> entries = worker_environment(stack, 2, 3, surroundings.data());
  EXPECT_THAT(entries,
              testing::IsSupersetOf(
                  {"LD_LIBRARY_PATH=/new:/old:/usr/x", "A=theirs", "OMP_PROC_BIND=spread"}));
  EXPECT_THAT(worker_environment(stack, 2, 3, nullptr),
              testing::Contains("LD_LIBRARY_PATH=/new:/old"));
}

}  // namespace
}  // namespace plumb::worker
