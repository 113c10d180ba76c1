// SPDX-License-Identifier: Apache-2.0
// Rules of streams, events and copies, as the driver's manual and "API synchronization behavior"
// state them.
#include <atomic>
#include <cstring>
#include <thread>

#include "tests/unit/cuda_driver/stand_in_device.hpp"

namespace plumb::stand_in {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StandInStreams : public StandInTest {};

std::vector<Range> writes(const cuda::Device::Memory& memory) {
  return {{cuda::abi::address_of(memory.address()), memory.size(), true}};
}
std::vector<Range> reads(const cuda::Device::Memory& memory) {
  return {{cuda::abi::address_of(memory.address()), memory.size(), false}};
}

TEST_F(StandInStreams, executes_works_of_a_stream_in_order_and_late) {
  const cuda::DeviceStream stream(driver());
  std::vector<int> order;
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(work(stream.get(), {}, [&order, i] { order.push_back(i); }), 0);
  }
  stream.synchronize();
  ASSERT_EQ(order.size(), 50U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(StandInStreams, does_not_wait_before_a_call_returns) {
  const cuda::DeviceStream stream(driver());
  std::atomic<bool> allowed = false;
  std::atomic<bool> done = false;
  ASSERT_EQ(work(stream.get(),
                 {},
                 [&] {
                   while (!allowed) {
                     std::this_thread::yield();
                   }
                   done = true;
                 }),
            0);
  EXPECT_FALSE(done);
  allowed = true;
  stream.synchronize();
  EXPECT_TRUE(done);
}

TEST_F(StandInStreams, finds_works_of_two_streams_that_nothing_orders) {
  const cuda::Device::Memory memory(driver(), 256);
  const cuda::DeviceStream first(driver());
  const cuda::DeviceStream second(driver());
  ASSERT_EQ(work(first.get(), writes(memory)), 0);
  ASSERT_EQ(work(second.get(), reads(memory)), 0);
  first.synchronize();
  second.synchronize();
  EXPECT_THAT(findings(), HasSubstr("race"));
}

TEST_F(StandInStreams, lets_two_streams_read_the_same_memory) {
  const cuda::Device::Memory memory(driver(), 256);
  const cuda::DeviceStream first(driver());
  const cuda::DeviceStream second(driver());
  ASSERT_EQ(work(first.get(), reads(memory)), 0);
  ASSERT_EQ(work(second.get(), reads(memory)), 0);
  first.synchronize();
  second.synchronize();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(StandInStreams, orders_two_streams_by_an_event) {
  const cuda::Device::Memory memory(driver(), 256);
  const cuda::DeviceStream first(driver());
  const cuda::DeviceStream second(driver());
  const cuda::DeviceStream::Event event(driver(), false);
  ASSERT_EQ(work(first.get(), writes(memory)), 0);
  event.record(first.get());
  second.wait_for(event);
  ASSERT_EQ(work(second.get(), reads(memory)), 0);
  second.synchronize();
  EXPECT_THAT(findings(), IsEmpty());
}

// cuStreamWaitEvent(): calls "are not affected by later calls to cuEventRecord()".
TEST_F(StandInStreams, waits_for_what_an_event_had_captured_at_the_call) {
  const cuda::Device::Memory memory(driver(), 256);
  const cuda::DeviceStream first(driver());
  const cuda::DeviceStream second(driver());
  const cuda::DeviceStream::Event event(driver(), false);
  event.record(first.get());
  ASSERT_EQ(work(first.get(), writes(memory)), 0);
  second.wait_for(event);
  ASSERT_EQ(work(second.get(), reads(memory)), 0);
  first.synchronize();
  second.synchronize();
  EXPECT_THAT(findings(), HasSubstr("race"));
}

TEST_F(StandInStreams, orders_two_streams_by_a_host_that_waits) {
  const cuda::Device::Memory memory(driver(), 256);
  const cuda::DeviceStream first(driver());
  const cuda::DeviceStream second(driver());
  ASSERT_EQ(work(first.get(), writes(memory)), 0);
  first.synchronize();
  ASSERT_EQ(work(second.get(), writes(memory)), 0);
  second.synchronize();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(StandInStreams, finds_a_kernel_that_does_not_wait_for_a_pageable_upload) {
  const cuda::Device::Memory memory(driver(), 4);
  const cuda::DeviceStream stream(driver());
  const int value = 7;
  ASSERT_EQ(cu().memcpy_to_device(memory.address(), &value, sizeof value), 0);
  ASSERT_EQ(work(stream.get(), reads(memory)), 0);
  stream.synchronize();
  ASSERT_EQ(cu().context_synchronize(), 0);
  EXPECT_THAT(findings(), HasSubstr("race"));
}

TEST_F(StandInStreams, reads_a_pageable_source_before_the_call_returns) {
  const cuda::Device::Memory memory(driver(), 4);
  int value = 7;
  ASSERT_EQ(cu().memcpy_to_device(memory.address(), &value, sizeof value), 0);
  value = 8;
  int read = 0;
  ASSERT_EQ(cu().memcpy_to_host(&read, memory.address(), sizeof read), 0);
  EXPECT_EQ(read, 7);
}

// "Stream synchronization behavior": the legacy stream waits for blocking streams, and they for it.
TEST_F(StandInStreams, orders_blocking_streams_by_the_legacy_stream) {
  const cuda::Device::Memory memory(driver(), 4);
  void* stream = nullptr;
  ASSERT_EQ(cu().stream_create(&stream, 0), 0);
  const int value = 7;
  ASSERT_EQ(cu().memcpy_to_device(memory.address(), &value, sizeof value), 0);
  ASSERT_EQ(work(stream, reads(memory)), 0);
  ASSERT_EQ(work(nullptr, writes(memory)), 0);
  ASSERT_EQ(cu().context_synchronize(), 0);
  EXPECT_THAT(findings(), IsEmpty());
  ASSERT_EQ(cu().stream_destroy(stream), 0);
}

TEST_F(StandInStreams, keeps_the_host_from_page_locked_memory_while_a_copy_uses_it) {
  const cuda::Device::Memory memory(driver(), 4096);
  const cuda::DeviceStream stream(driver());
  void* host = nullptr;
  ASSERT_EQ(cu().mem_alloc_host(&host, 4096), 0);
  std::memset(host, 1, 4096);
  ASSERT_EQ(cu().memcpy_to_host_async(host, memory.address(), 4096, stream.get()), 0);
  EXPECT_DEATH(static_cast<void>(*static_cast<volatile char*>(host) == 0), "");
  stream.synchronize();
  EXPECT_EQ(*static_cast<unsigned char*>(host), 0x7b);
  ASSERT_EQ(cu().mem_free_host(host), 0);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(StandInStreams, finds_page_locked_memory_that_is_freed_under_a_copy) {
  const cuda::Device::Memory memory(driver(), 4096);
  const cuda::DeviceStream stream(driver());
  void* host = nullptr;
  ASSERT_EQ(cu().mem_alloc_host(&host, 4096), 0);
  ASSERT_EQ(cu().memcpy_to_host_async(host, memory.address(), 4096, stream.get()), 0);
  ASSERT_EQ(cu().mem_free_host(host), 0);
  EXPECT_THAT(findings(), HasSubstr("host-memory"));
}

TEST_F(StandInStreams, times_events_by_its_script) {
  const cuda::DeviceStream stream(driver());
  const cuda::DeviceStream::Event begin(driver(), true);
  const cuda::DeviceStream::Event end(driver(), true);
  control().set_duration(Duration::kKernel, 250'000);
  control().set_duration(Duration::kEvent, 500);
  begin.record(stream.get());
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(work(stream.get(), {}), 0);
  }
  end.record(stream.get());
  end.synchronize();
  EXPECT_NEAR(cuda::time_between(driver(), begin, end).count(), 1.0005e-3, 1e-9);
}

// cuEventElapsedTime(): CUDA_ERROR_INVALID_HANDLE and CUDA_ERROR_NOT_READY.
TEST_F(StandInStreams, refuses_the_time_of_events_that_have_none) {
  const cuda::DeviceStream stream(driver());
  const cuda::DeviceStream::Event timed(driver(), true);
  const cuda::DeviceStream::Event untimed(driver(), false);
  float milliseconds = 0.0F;
  EXPECT_EQ(cu().event_elapsed_time(&milliseconds, timed.get(), timed.get()), 400);
  timed.record(stream.get());
  untimed.record(stream.get());
  stream.synchronize();
  EXPECT_EQ(cu().event_elapsed_time(&milliseconds, timed.get(), untimed.get()), 400);
  std::atomic<bool> allowed = false;
  ASSERT_EQ(work(stream.get(),
                 {},
                 [&] {
                   while (!allowed) {
                     std::this_thread::yield();
                   }
                 }),
            0);
  timed.record(stream.get());
  EXPECT_EQ(cu().event_elapsed_time(&milliseconds, timed.get(), timed.get()), 600);
  allowed = true;
  stream.synchronize();
}

TEST_F(StandInStreams, finds_a_stream_and_an_event_that_are_used_when_destroyed) {
  void* stream = nullptr;
  void* event = nullptr;
  ASSERT_EQ(cu().stream_create(&stream, 1), 0);
  ASSERT_EQ(cu().event_create(&event, 0), 0);
  ASSERT_EQ(cu().stream_destroy(stream), 0);
  EXPECT_EQ(cu().stream_synchronize(stream), 400);
  EXPECT_THAT(findings(), HasSubstr("stream that was destroyed"));
  ASSERT_EQ(cu().event_destroy(event), 0);
  EXPECT_EQ(cu().event_synchronize(event), 400);
  EXPECT_THAT(findings(), HasSubstr("event that was destroyed"));
}

// cuStreamDestroy(): "the function will return immediately", and the work goes on.
TEST_F(StandInStreams, completes_the_work_of_a_destroyed_stream) {
  std::atomic<int> done = 0;
  {
    const cuda::DeviceStream stream(driver());
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(work(stream.get(), {}, [&] { ++done; }), 0);
    }
  }
  ASSERT_EQ(cu().context_synchronize(), 0);
  EXPECT_EQ(done, 10);
}

}  // namespace
}  // namespace plumb::stand_in
