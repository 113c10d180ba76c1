// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

/// Compares the calls that the ABI headers of runners/cuda declare by hand with NVIDIA's own
/// declarations. All of it happens while a test is compiled.
namespace plumb::cuda::abi {

/// Whether an enumeration or structure of the project is one of NVIDIA's. Tests specialise
/// it, so that two enumerations cannot change places.
template <typename Ours, typename Theirs>
inline constexpr bool kStandsFor = false;

template <typename Ours, typename Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<long long>(ours) == static_cast<long long>(theirs);
}

template <typename Ours, typename Theirs>
constexpr bool is_passed_alike();

/// Whether two function types have as many parameters, each passed alike.
template <typename Ours, typename Theirs>
inline constexpr bool kSameCall = false;
template <typename Result, typename... Ours, typename Other, typename... Theirs>
requires(sizeof...(Ours) ==
         sizeof...(Theirs)) inline constexpr bool kSameCall<Result(Ours...), Other(Theirs...)> =
    is_passed_alike<Result, Other>() && (is_passed_alike<Ours, Theirs>() && ...);

template <typename Ours, typename Theirs>
constexpr bool points_alike() {
  if constexpr (std::is_const_v<Ours> != std::is_const_v<Theirs>) {
    return false;
  } else if constexpr (std::is_void_v<Ours>) {
    return std::is_void_v<Theirs> || std::is_class_v<Theirs>;  // a handle
  } else if constexpr (std::is_function_v<Ours>) {
    return kSameCall<Ours, Theirs>;
  } else {
    return is_passed_alike<std::remove_const_t<Ours>, std::remove_const_t<Theirs>>();
  }
}

/// Returns whether values of two types are passed alike, and so is what they point to.
template <typename Ours, typename Theirs>
constexpr bool is_passed_alike() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    return points_alike<std::remove_pointer_t<Ours>, std::remove_pointer_t<Theirs>>();
  } else if constexpr (std::is_enum_v<Ours> || std::is_class_v<Ours>) {
    if constexpr (kStandsFor<Ours, Theirs>) {
      return sizeof(Ours) == sizeof(Theirs);
    } else {
      return false;
    }
  } else if constexpr (std::is_enum_v<Theirs> && std::is_integral_v<Ours>) {
    return sizeof(Ours) == sizeof(Theirs);
  } else if constexpr (std::is_integral_v<Ours> && std::is_integral_v<Theirs>) {
    return sizeof(Ours) == sizeof(Theirs) && std::is_signed_v<Ours> == std::is_signed_v<Theirs>;
  } else {
    return std::is_same_v<Ours, Theirs>;
  }
}

/// Returns whether all calls of a structure are as `Header` declares the entry points of their
/// names. Where one is not, the compiler's message shows the name. `for_each` is a
/// for_each_…_call().
template <typename Header, typename Calls, typename ForEach>
constexpr bool are_declared(ForEach for_each) {
  Calls calls;
  std::array<const void*, sizeof(Calls) / sizeof(void*)> members{};
  std::size_t count = 0;
  for_each(calls, [&](auto& call, std::string_view name) {
    using Ours = std::remove_pointer_t<std::remove_reference_t<decltype(call)>>;
    if (!Header::template declares<Ours>(name)) {
      throw "the header declares no such call";
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (members[i] == &call) {
        throw "the call is visited twice";
      }
    }
    members.at(count++) = &call;
  });
  return count == members.size();  // else one is not visited
}

}  // namespace plumb::cuda::abi

#define PLUMB_QUOTED(name) #name
/// Returns from `declares<Ours>(name)` if the name is this function's. Of a name that a header
/// defines as a macro, that is the function behind it (cuMemAlloc_v2).
#define PLUMB_DECLARED(function)                \
  if (name == PLUMB_QUOTED(function)) {         \
    return kSameCall<Ours, decltype(function)>; \
  }
/// Asserts that a field of a structure lies where NVIDIA's does, and is as large.
#define PLUMB_SAME_FIELD(Ours, field, Theirs, their_field)                \
  static_assert(offsetof(Ours, field) == offsetof(Theirs, their_field) && \
                sizeof(Ours::field) == sizeof(Theirs::their_field))
