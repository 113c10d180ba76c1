// SPDX-License-Identifier: Apache-2.0
// What the system's compiler calls before each access to memory in a kernel. The stand-in of NVRTC
// compiles with -fsanitize=thread, and links no sanitizer: these functions take its place.
#include "tests/support/cuda_driver/kernel_runner.hpp"

using plumb::stand_in::note_access;

#define PLUMB_EXPORT extern "C" __attribute__((visibility("default")))
#define PLUMB_ACCESS(BYTES)                                   \
  PLUMB_EXPORT void __tsan_read##BYTES(void* at) {            \
    note_access(at, BYTES, false);                            \
  }                                                           \
  PLUMB_EXPORT void __tsan_write##BYTES(void* at) {           \
    note_access(at, BYTES, true);                             \
  }                                                           \
  PLUMB_EXPORT void __tsan_unaligned_read##BYTES(void* at) {  \
    note_access(at, BYTES, false);                            \
  }                                                           \
  PLUMB_EXPORT void __tsan_unaligned_write##BYTES(void* at) { \
    note_access(at, BYTES, true);                             \
  }                                                           \
  PLUMB_EXPORT void __tsan_volatile_read##BYTES(void* at) {   \
    note_access(at, BYTES, false);                            \
  }                                                           \
  PLUMB_EXPORT void __tsan_volatile_write##BYTES(void* at) {  \
    note_access(at, BYTES, true);                             \
  }

PLUMB_ACCESS(1)
PLUMB_ACCESS(2)
PLUMB_ACCESS(4)
PLUMB_ACCESS(8)
PLUMB_ACCESS(16)
PLUMB_EXPORT void __tsan_read_range(void* at, unsigned long bytes) {
  note_access(at, bytes, false);
}
PLUMB_EXPORT void __tsan_write_range(void* at, unsigned long bytes) {
  note_access(at, bytes, true);
}
PLUMB_EXPORT void __tsan_init() {}
PLUMB_EXPORT void __tsan_func_entry(void* /*from*/) {}
PLUMB_EXPORT void __tsan_func_exit() {}
