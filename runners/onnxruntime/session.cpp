// SPDX-License-Identifier: Apache-2.0
#include "runners/onnxruntime/session.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "harness/base/error.hpp"
#include "runners/onnxruntime/nodes/node_writer.hpp"

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

/// Writes names with their numbers: "Conv:53,Relu:49", the most frequent first.
std::string counted(const std::map<std::string, int>& counts) {
  std::vector<std::pair<std::string, int>> order(counts.begin(), counts.end());
  std::stable_sort(
      order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, count] : order) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", name, count);
  }
  return text;
}

/// Reads which nodes were executed, each once, from a profile in Chrome's trace format.
results::Attributes read_profile(const fs::path& file) {
  std::error_code error;
  if (fs::file_size(file, error) > kLargestProfile || error) {
    return {};
  }
  std::ifstream stream(file);
  const nlohmann::json events = nlohmann::json::parse(stream, nullptr, false);
  std::map<std::string, std::string> nodes;  // operators by index and name
  std::map<std::string, int> operators;
  std::map<std::string, int> providers;
  for (const nlohmann::json& event : events.is_array() ? events : nlohmann::json::array()) {
    const std::string name = event.value("name", "");
    if (event.value("cat", "") != "Node" || !name.ends_with("_kernel_time") ||
        !event.contains("args")) {
      continue;
    }
    const nlohmann::json& arguments = event["args"];
    const std::string op = arguments.value("op_name", "?");
    if (nodes.emplace(arguments.value("node_index", "") + name, op).second) {
      ++operators[op];
      ++providers[arguments.value("provider", "?")];
    }
  }
  if (nodes.empty()) {
    return {};
  }
  return {{"nodes", std::to_string(nodes.size())},
          {"operators", counted(operators)},
          {"providers", counted(providers)}};
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

Session::Session(const Library& library, const std::string& model, const SessionSettings& settings)
    : library_(library), folder_(settings.profile ? make_profile_folder() : fs::path()) {
  const auto options =
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
  if (!folder_.empty()) {
    library.call<api::EnableProfiling>(options.get(), (folder_ / "profile").c_str());
  }
  if (!settings.traces.empty()) {
    library.call<api::EnableProfiling>(options.get(), (settings.traces / "onnxruntime").c_str());
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
  results::Attributes attributes = read_profile(file);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  folder_.clear();
  return attributes;
}

}  // namespace plumb::onnxruntime
