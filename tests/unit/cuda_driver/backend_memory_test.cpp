// SPDX-License-Identifier: Apache-2.0
// What the backend's owners of memory promise, against the strict stand-in.
#include <numeric>

#include "tests/unit/cuda_driver/stand_in_device.hpp"

namespace plumb::stand_in {
namespace {

using ::testing::IsEmpty;

class BackendMemory : public StandInTest {};

TEST_F(BackendMemory, is_uploaded_before_the_call_returns) {
  const cuda::DeviceStream stream(driver());
  std::vector<int> values(1000);
  std::iota(values.begin(), values.end(), 0);
  for (int i = 0; i < 20; ++i) {
    const cuda::Device::Memory memory(driver(), values.size() * sizeof(int));
    const auto* const place = static_cast<const int*>(cuda::abi::address_of(memory.address()));
    cuda::upload(driver(), memory.address(), std::as_bytes(std::span(values)));
    std::vector<int> seen;
    ASSERT_EQ(work(stream.get(),
                   {{place, memory.size(), false}},
                   [&seen, place, count = values.size()] { seen.assign(place, place + count); }),
              0);
    stream.synchronize();
    EXPECT_EQ(seen, values);
  }
  EXPECT_THAT(findings(), IsEmpty());
}

}  // namespace
}  // namespace plumb::stand_in
