// SPDX-License-Identifier: Apache-2.0
/// Read by the leak sanitizer: NVIDIA's libraries keep memory to the end of the process, and lose
/// some when they find no device.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libcublasLt\nleak:libcudnn\nleak:libcupti\nleak:libnvperf\nleak:libnvrtc\n";
}
