// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/cudnn_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/engine/exec/this_process.hpp"

namespace plumb::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kOldest = 90800;  // the first that takes descriptions of devices
constexpr std::size_t kNextMajor = 100000;
constexpr const char* kCublas = "libcublasLt";
constexpr const char* kHowToGet = "fetch one: plumb stacks fetch nvidia-cudnn-cu13==9.12.0.46";

std::string last_loader_error() {
  const char* const text = dlerror();
  return text != nullptr ? text : "unknown reason";
}

void load_by_path(const fs::path& path) {
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("the library '{}' cannot be loaded ({}): install what it needs, or {}",
                            path.string(),
                            last_loader_error(),
                            kHowToGet));
  }
}

template <typename Function>
void find(Function& function, const char* name) {
  void* const symbol = dlsym(RTLD_DEFAULT, name);
  if (symbol == nullptr) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format(
            "none of the stack's libraries is cuDNN 9 (no symbol {}): {}", name, kHowToGet));
  }
  function = reinterpret_cast<Function>(symbol);
}

bool is_part(const fs::path& path) {
  return path.filename().string().rfind("libcudnn", 0) == 0;
}

/// Returns the loader's reasons why parts of cuDNN in a folder cannot be loaded. cuDNN itself does
/// not report them.
std::string parts_that_fail(const fs::path& folder) {
  std::string text;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_part(entry->path()) &&
        dlopen(entry->path().c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr) {
      text += fmt::format("; {}", last_loader_error());
    }
  }
  return text;
}

std::string version_text(std::size_t number) {
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

std::string part_name(const fs::path& path) {
  const std::string file = path.filename().string();
  return file.substr(0, file.find(".so"));
}

/// Returns cuBLASLt's version, which it writes as 10000·major + 100·minor + patch.
std::string cublas_version() {
  void* const symbol = dlsym(RTLD_DEFAULT, "cublasLtGetVersion");
  return symbol == nullptr ? "" : version_text(reinterpret_cast<abi::GetVersion>(symbol)());
}

}  // namespace

CudnnLibrary::CudnnLibrary(const std::vector<fs::path>& libraries) {
  for (const fs::path& path : libraries) {
    load_by_path(path);
  }
  abi::for_each_cudnn_call(calls_, [](auto& call, const char* name) { find(call, name); });
  const auto look_up = [](auto& call, const char* name) {
    call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(dlsym(RTLD_DEFAULT, name));
  };
  abi::for_each_legacy_call(legacy_calls_, look_up);
  abi::for_each_recurrent_call(recurrent_calls_, look_up);
  const std::size_t number = calls_.version();
  version_ = version_text(number);
  if (number < kOldest || number >= kNextMajor) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("this worker needs a cuDNN from 9.8 to 9.99, and the stack's is {}: {}",
                            version_,
                            kHowToGet));
  }
  load_cublas();
  load_parts(engine::mapped_file(reinterpret_cast<const void*>(calls_.version)).parent_path());
}

void CudnnLibrary::load_cublas() const {
  const std::string name = fmt::format("{}.so.{}", kCublas, calls_.cudart_version() / 1000);
  // cuDNN aborts the process if it looks for cuBLASLt and does not find it.
  if (dlopen(name.c_str(), RTLD_LAZY | RTLD_GLOBAL) == nullptr) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format("cuDNN {} needs {} ({}): fetch the stack with its dependencies (without "
                    "--no-deps), or add the folder of that library to the stack's folders",
                    version_,
                    name,
                    last_loader_error()));
  }
}

void CudnnLibrary::load_parts(const fs::path& folder) {
  // Any description makes cuDNN load the parts that would choose for it. An empty one is refused
  // only after that.
  try {
    abi::Descriptor device = nullptr;
    check(calls_.create_descriptor(abi::CudnnCalls::DescriptorType::kDeviceProperties, &device),
          "a new descriptor");
    const std::unique_ptr<void, decltype(calls_.destroy_descriptor)> owner(
        device, calls_.destroy_descriptor);
    constexpr std::string_view kEmpty = "{}";
    check(calls_.set_attribute(device,
                               abi::CudnnCalls::Attribute::kDeviceJson,
                               abi::CudnnCalls::ValueType::kChar,
                               kEmpty.size(),
                               kEmpty.data()),
          "an attribute");
    check(calls_.finalize(device), "the description of a device");
  } catch (const CudnnLibrary::Refusal& refusal) {
    if (refusal.status() == abi::kSublibraryVersionMismatch ||
        refusal.status() == abi::kSublibraryLoadingFailed) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("cuDNN {} in '{}' cannot load its own parts ({}){}. The folder mixes "
                              "versions or is not complete, or the machine lacks the library named "
                              "here. Fetch the stack again, use another version, or add the folder "
                              "of the missing library to the stack's folders",
                              version_,
                              folder.string(),
                              refusal.what(),
                              parts_that_fail(folder)));
    }
  }
  for (const engine::LoadedModule& module : engine::loaded_modules()) {
    if (is_part(module.path) && module.path.parent_path() != fs::canonical(folder)) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("a mixture: '{}' does not belong to the cuDNN {} in '{}': fetch the "
                              "stack again",
                              module.path.string(),
                              version_,
                              folder.string()));
    }
  }
}

results::Environment CudnnLibrary::describe() const {
  results::Environment environment;
  std::string builds;
  for (const engine::LoadedModule& module : engine::loaded_modules()) {
    const std::string name = part_name(module.path);
    if (!is_part(module.path) && name != kCublas) {
      continue;
    }
    environment.facts[name + ".version"] = is_part(module.path) ? version_ : cublas_version();
    builds += fmt::format("{}={}\n", name, module.build_id);
    environment.facts[name + ".path"] = module.path.string();
    environment.facts[name + ".build_id"] = module.build_id;
  }
  environment.identity["backend"] = "cuda";
  environment.identity["library"] =
      fmt::format("cudnn-{}-{}", version_, sha256(builds).substr(0, 16));
  environment.facts["library.version"] = version_;
  return environment;
}

void CudnnLibrary::check(int status, const char* what) const {
  if (status == abi::kSuccess) {
    return;
  }
  std::array<char, 1024> words{};
  calls_.last_error_string(words.data(), words.size() - 1);
  throw CudnnLibrary::Refusal(status,
                              fmt::format("{}: {} ({}){}{}",
                                          what,
                                          calls_.error_string(status),
                                          status,
                                          words[0] == '\0' ? "" : ": ",
                                          words.data()));
}

CudnnLibrary::Handle::Handle(const CudnnLibrary& library)
    : library_(library),
      handle_(make_owned(
          library, library.calls().create_handle, library.calls().destroy_handle, "a handle")) {}

void CudnnLibrary::Handle::use(abi::Stream stream) {
  if (stream != stream_) {
    library_.check(library_.calls().set_stream(get(), stream), "a handle's stream");
    stream_ = stream;
  }
}

void CudnnLibrary::Handle::execute(abi::Descriptor plan, abi::Descriptor pack, abi::Stream stream) {
  use(stream);
  library_.check(library_.calls().execute(get(), plan, pack), "executing a plan");
}

abi::CudnnCalls::Type cudnn_type(model::DataType type) {
  switch (type) {
    case model::DataType::kF32:
      return abi::CudnnCalls::Type::kFloat;
    case model::DataType::kF16:
      return abi::CudnnCalls::Type::kHalf;
    case model::DataType::kBf16:
      return abi::CudnnCalls::Type::kBfloat16;
    default:
      throw Unsupported(
          fmt::format("cuDNN is used for f32, f16 and bf16, not for {}", to_text(type)));
  }
}

}  // namespace plumb::cuda
