// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/address_sampler.hpp"

#include "runners/engine/exec/own_process.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "harness/base/error.hpp"
#include "runners/engine/profile/sample_source.hpp"
#include "runners/engine/profile/signalled_samples.hpp"

namespace plumb::engine {
namespace {

/// Lists the threads of this process, the calling one first.
std::vector<pid_t> list_threads() {
  const auto self = static_cast<pid_t>(::syscall(SYS_gettid));
  std::vector<pid_t> threads{self};
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string name = entry.path().filename();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread > 0 && thread != self) {
      threads.push_back(thread);
    }
  }
  std::sort(threads.begin() + 1, threads.end());
  return threads;
}

}  // namespace

AddressSampler::AddressSampler(const SamplerOptions& options, worker::StepMark& step)
    : threads_(list_threads()) {
  PLUMB_CHECK(options.rate > 0.0);
  for (const results::SamplingClock clock : options.clocks) {
    try {
      source_ = clock == results::SamplingClock::kTimer || clock == results::SamplingClock::kThread
                    ? open_signalled_samples(clock, threads_, options, step)
                    : open_kernel_samples(clock, threads_, options, step);
      clock_ = clock;
      return;
    } catch (const Error& error) {
      refused_ += fmt::format("{}{}", refused_.empty() ? "" : "; ", error.what());
    }
  }
  throw Error(Error::Kind::kEnvironment,
              fmt::format("no clock can interrupt this process for samples: {}", refused_));
}

namespace {

/// Build-ids of loaded objects, by the addresses where their code begins.
using BuildIds = std::map<std::uint64_t, std::string>;

int add_object(dl_phdr_info* object, std::size_t /*size*/, void* build_ids) {
  const std::string build_id = read_build_id(*object);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0) {
      (*static_cast<BuildIds*>(build_ids))[object->dlpi_addr + header.p_vaddr] = build_id;
    }
  }
  return 0;
}

}  // namespace

std::vector<results::CodeMapping> read_mapped_code() {
  BuildIds build_ids;
  ::dl_iterate_phdr(add_object, &build_ids);
  std::vector<results::CodeMapping> mappings;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    results::CodeMapping mapping;
    char dash = 0;
    std::string rights;
    std::string device;
    std::string node;
    fields >> std::hex >> mapping.begin >> dash >> mapping.end >> rights >> mapping.offset >>
        device >> node;
    if (!fields || rights.size() < 3 || rights[2] != 'x') {
      continue;
    }
    std::getline(fields >> std::ws, mapping.path);
    // The code of an object may begin after the page that its mapping begins with.
    const auto object = build_ids.lower_bound(mapping.begin);
    if (object != build_ids.end() && object->first < mapping.end) {
      mapping.build_id = object->second;
    }
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

}  // namespace plumb::engine
