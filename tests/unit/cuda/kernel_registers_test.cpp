// SPDX-License-Identifier: Apache-2.0
// What NVRTC makes of every built-in kernel: registers, stack and spills, beside the committed
// table of each architecture. ci/kernel-registers writes the tables.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include "harness/base/error.hpp"
#include "runners/cuda/exec/kernel_library.hpp"
#include "tests/support/nvidia_required.hpp"
#include "tests/unit/cuda/builtin_layers.hpp"

namespace plumb::cuda {
namespace {

constexpr unsigned kRegistersOfBlock = 65'536;  // of every GPU from sm_75 to sm_100

/// Resources that one kernel uses, as the assembler reports them.
struct KernelUsage {
  unsigned threads = 0;
  unsigned registers = 0;
  unsigned stack = 0;  // bytes a thread
  unsigned spills = 0;
};

/// Kernels by the text of their call.
using UsageTable = std::map<std::string, KernelUsage>;

KernelLibrary::Compiler nvrtc() {
  std::vector<std::string> names = KernelLibrary::Compiler::default_names();
  names.insert(names.begin(), std::string(PLUMB_TEST_CUDA_FOLDER) + "/libnvrtc.so");
  names.insert(names.begin(), PLUMB_TEST_NVRTC);
  return KernelLibrary::Compiler(names);
}

/// Every kernel that a test executes, in one source. The table has the block's size of each.
struct AllKernels {
  std::string source = kernel_sources();
  std::vector<std::string> calls;  // of kernel_0, kernel_1, …
  UsageTable table;
};

AllKernels all_kernels() {
  AllKernels all;
  for (const HostLayer& layer : builtin_layers()) {
    for (const KernelLaunch& launch : layer.layer.launches) {
      const auto [at, is_new] = all.table.try_emplace(launch.call);
      at->second.threads = std::max(at->second.threads, launch.threads);
      if (is_new) {
        all.source += entry_text(launch, fmt::format("kernel_{}", all.calls.size()));
        all.calls.push_back(launch.call);
      }
    }
  }
  return all;
}

/// Reads what the assembler said of each kernel into the table.
void read_report(const std::string& report, AllKernels& all) {
  static const std::regex kKernel("Function properties for kernel_(\\d+)");
  static const std::regex kStack(
      "(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes spill loads");
  static const std::regex kRegisters("Used (\\d+) registers");
  std::istringstream lines(report);
  KernelUsage* current = nullptr;
  std::smatch match;
  const auto number = [&match](std::size_t group) {
    return static_cast<unsigned>(std::stoul(match[group]));
  };
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, match, kKernel)) {
      current = &all.table.at(all.calls.at(number(1)));
    } else if (current != nullptr && std::regex_search(line, match, kStack)) {
      current->stack = number(1);
      current->spills = number(2) + number(3);
    } else if (current != nullptr && std::regex_search(line, match, kRegisters)) {
      current->registers = number(1);
    }
  }
}

std::string table_file(const std::string& folder, int architecture) {
  return fmt::format("{}/sm_{}.tsv", folder, architecture);
}

UsageTable read_table(int architecture) {
  UsageTable table;
  std::ifstream in(table_file(PLUMB_TEST_KERNEL_REGISTERS, architecture));
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') {
      continue;
    }
    std::istringstream fields(line);
    KernelUsage usage;
    fields >> usage.threads >> usage.registers >> usage.stack;
    std::string call;
    std::getline(fields >> std::ws, call);
    table[call] = usage;
  }
  return table;
}

void write_table(const std::string& folder, int architecture, const UsageTable& table) {
  std::ofstream out(table_file(folder, architecture));
  out << "# Built-in kernels for sm_" << architecture << ", written by ci/kernel-registers.\n"
      << "# threads of a block, registers of a thread, bytes of its stack, kernel\n";
  for (const auto& [call, usage] : table) {
    out << usage.threads << '\t' << usage.registers << '\t' << usage.stack << '\t' << call << '\n';
  }
}

class KernelRegisters : public ::testing::TestWithParam<int> {};

TEST_P(KernelRegisters, of_every_kernel_stay_within_the_table) {
  AllKernels all = all_kernels();
  EXPECT_GT(all.calls.size(), 50U);
  try {
    read_report(nvrtc().resource_report(all.source, GetParam()), all);
  } catch (const Error& missing) {
    PLUMB_WITHOUT_NVIDIA() << missing.what();
  }
  if (const char* const folder = std::getenv("PLUMB_KERNEL_REGISTERS")) {
    write_table(folder, GetParam(), all.table);
  }
  const UsageTable limits = read_table(GetParam());
  EXPECT_EQ(limits.size(), all.table.size()) << "kernels in the table: run ci/kernel-registers";
  for (const auto& [call, usage] : all.table) {
    EXPECT_GT(usage.registers, 0U) << call << ": the compiler said nothing of it";
    EXPECT_EQ(usage.spills, 0U) << call << " spills registers to memory";
    EXPECT_LE(usage.registers * usage.threads, kRegistersOfBlock) << call << " cannot be launched";
    const auto limit = limits.find(call);
    if (limit == limits.end()) {
      ADD_FAILURE() << call << " is not in the table: run ci/kernel-registers";
      continue;
    }
    EXPECT_EQ(usage.threads, limit->second.threads) << call;
    EXPECT_LE(usage.registers, limit->second.registers) << call << ": registers";
    EXPECT_LE(usage.stack, limit->second.stack) << call << ": bytes of stack";
  }
}

// The oldest lacks what the others have.
INSTANTIATE_TEST_SUITE_P(Architectures, KernelRegisters, ::testing::Values(75));
INSTANTIATE_TEST_SUITE_P(NightlyArchitectures, KernelRegisters, ::testing::Values(80, 90, 100));

TEST(KernelRegisters, a_kernel_that_spills_is_noticed) {
  AllKernels all;
  all.calls = {"spilling"};
  all.table["spilling"] = {};
  all.source = R"(
extern "C" __global__ void __launch_bounds__(1024) kernel_0(float* data) {
  float kept[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) kept[i] = data[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 96; ++i) data[i * 1024 + threadIdx.x] = kept[95 - i] * kept[(i * 7) % 96];
})";
  try {
    read_report(nvrtc().resource_report(all.source, 75), all);
  } catch (const Error& missing) {
    PLUMB_WITHOUT_NVIDIA() << missing.what();
  }
  EXPECT_GT(all.table.at("spilling").spills, 0U);
  EXPECT_LE(all.table.at("spilling").registers, 64U);
}

TEST(KernelCompiler, makes_what_a_driver_loads) {
  try {
    const KernelLibrary::Compiler compiler = nvrtc();
    const std::string source = "extern \"C\" __global__ void one(int* at) { *at = 1; }";
    EXPECT_THAT(compiler.compile(source, 75),
                ::testing::StartsWith("\x7f"
                                      "ELF"));
    EXPECT_THAT(compiler.compile(source, 999), ::testing::HasSubstr(".visible .entry one"));
    EXPECT_THAT(compiler.resource_report(source, 75), ::testing::HasSubstr("registers"));
  } catch (const Error& missing) {
    PLUMB_WITHOUT_NVIDIA() << missing.what();
  }
}

}  // namespace
}  // namespace plumb::cuda
