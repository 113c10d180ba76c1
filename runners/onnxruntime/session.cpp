// SPDX-License-Identifier: Apache-2.0
#include "runners/onnxruntime/session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "runners/onnxruntime/nodes/node_writer.hpp"
#include "runners/onnxruntime/session_profile.hpp"

namespace plumb::onnxruntime {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestProfile = std::uintmax_t{64} << 20;

constexpr std::array kLevels{std::pair{Optimization::kOff, "off"},
                             std::pair{Optimization::kBasic, "basic"},
                             std::pair{Optimization::kExtended, "extended"},
                             std::pair{Optimization::kAll, "all"}};

/// Makes a folder for a profile. Empty if that is not possible: a session does without.
fs::path make_profile_folder() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "plumb-onnxruntime-XXXXXX").string();
  return error || ::mkdtemp(name.data()) == nullptr ? fs::path() : fs::path(name);
}

/// Reads a profile, unless it is too large to be read whole.
results::Attributes read_profile(const fs::path& file, bool elsewhere) {
  std::error_code error;
  if (fs::file_size(file, error) > kLargestProfile || error) {
    return {};
  }
  std::ifstream stream(file);
  return read_session_profile(stream, elsewhere);
}

/// Returns a provider's name without its end and in small letters, by which both ways to write it
/// are one: "TensorRT" and "TensorrtExecutionProvider".
std::string plain_provider_name(std::string name) {
  constexpr std::string_view kEnd = "executionprovider";
  for (char& letter : name) {
    letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return name.ends_with(kEnd) ? name.substr(0, name.size() - kEnd.size()) : name;
}

/// Appends a provider that has a type of options of its own, with its default options.
template <typename Create, typename Append, typename ReleaseOptions, typename ProviderOptions>
void append_nvidia_provider(const Library& library, OrtSessionOptions* session) {
  const auto options = library.make<Create, ReleaseOptions, ProviderOptions>();
  library.call<Append>(session, options.get());
}

/// Appends a provider before the CPU's. That of CUDA follows TensorRT's, which leaves nodes to it.
/// Throws Error{kEnvironment} that names a provider which the library lacks, and those it has.
void append_provider(const Library& library,
                     const std::string& provider,
                     OrtSessionOptions* session) {
  const std::vector<std::string> there = library.providers();
  const auto has = [&](const std::string& name) {
    return std::any_of(there.begin(), there.end(), [&](const std::string& each) {
      return plain_provider_name(each) == name;
    });
  };
  const std::string name = plain_provider_name(provider);
  if (!has(name)) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("ONNX Runtime {} has no execution provider '{}', but {}: use a library "
                            "that was built with it",
                            library.version(),
                            provider,
                            fmt::join(there, " and ")));
  }
  if (name == "tensorrt") {
    append_nvidia_provider<api::CreateTensorRtProviderOptions,
                           api::AppendTensorRtProvider,
                           api::ReleaseTensorRtProviderOptions,
                           OrtTensorRTProviderOptionsV2>(library, session);
  }
  if (name == "cuda" || (name == "tensorrt" && has("cuda"))) {
    append_nvidia_provider<api::CreateCudaProviderOptions,
                           api::AppendCudaProvider,
                           api::ReleaseCudaProviderOptions,
                           OrtCUDAProviderOptionsV2>(library, session);
  } else if (name != "tensorrt") {
    library.call<api::SessionOptionsAppendExecutionProvider>(
        session, provider.c_str(), nullptr, nullptr, std::size_t{0});
  }
}

}  // namespace

std::string to_text(Optimization level) {
  const auto* const row = std::find_if(
      kLevels.begin(), kLevels.end(), [&](const auto& each) { return each.first == level; });
  PLUMB_CHECK(row != kLevels.end());
  return row->second;
}

std::optional<Optimization> parse_optimization(std::string_view text) {
  const auto* const row = std::find_if(
      kLevels.begin(), kLevels.end(), [&](const auto& each) { return each.second == text; });
  return row == kLevels.end() ? std::nullopt : std::optional(row->first);
}

Tensor::Tensor(const Library& library, const model::TensorType& type)
    : value_(library.make<api::CreateTensorAsOrtValue, api::ReleaseValue, OrtValue>(
          library.allocator(), type.dims.data(), type.dims.size(), onnx_type(type.dtype))) {
  void* data = nullptr;
  library.call<api::GetTensorMutableData>(value_.get(), &data);
  bytes_ = {static_cast<std::byte*>(data), static_cast<std::size_t>(model::byte_size(type).value)};
  std::fill(bytes_.begin(), bytes_.end(), std::byte{0});
}

Owned<OrtSessionOptions> make_options(const Library& library, const SessionSettings& settings) {
  auto options =
      library.make<api::CreateSessionOptions, api::ReleaseSessionOptions, OrtSessionOptions>();
  library.call<api::SetSessionGraphOptimizationLevel>(options.get(),
                                                      static_cast<int>(settings.optimization));
  if (settings.parallel) {
    library.call<api::SetSessionExecutionMode>(options.get(), api::kParallelExecution);
  }
  if (settings.threads) {
    library.call<api::SetIntraOpNumThreads>(options.get(), *settings.threads);
    library.call<api::SetInterOpNumThreads>(options.get(), *settings.threads);
  } else {
    library.call<api::DisablePerSessionThreads>(options.get());
  }
  if (!settings.traces.empty()) {
    library.call<api::EnableProfiling>(options.get(), (settings.traces / "onnxruntime").c_str());
  }
  if (!settings.provider.empty()) {
    append_provider(library, settings.provider, options.get());
  }
  return options;
}

Session::Session(const Library& library, const std::string& model, const SessionSettings& settings)
    : library_(library),
      log_(library.logs()),
      elsewhere_(!settings.provider.empty()),
      folder_(settings.profile ? make_profile_folder() : fs::path()) {
  const Owned<OrtSessionOptions> options = make_options(library, settings);
  library.call<api::SetSessionLogId>(options.get(), log_.id().c_str());
  if (!folder_.empty()) {
    library.call<api::EnableProfiling>(options.get(), (folder_ / "profile").c_str());
  }
  const auto begin = std::chrono::steady_clock::now();
  session_ = library.make<api::CreateSessionFromArray, api::ReleaseSession, OrtSession>(
      library.environment(), model.data(), model.size(), options.get());
  creation_ = std::chrono::steady_clock::now() - begin;
}

Session::~Session() {
  session_.reset();  // it may still write its profile
  if (!folder_.empty()) {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
}

fs::path Session::end_trace() {
  char* name = nullptr;
  library_.call<api::SessionEndProfiling>(session_.get(), library_.allocator(), &name);
  fs::path file = name;
  library_.call<api::AllocatorFree>(library_.allocator(), name);
  return file;
}

results::Attributes Session::end_profile() {
  if (folder_.empty()) {
    return {};
  }
  const fs::path file = end_trace();
  results::Attributes attributes = read_profile(file, elsewhere_);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  folder_.clear();
  return attributes;
}

}  // namespace plumb::onnxruntime
