// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/cudnn_handle.hpp"

namespace plumb::cuda {

CudnnHandle::CudnnHandle(const CudnnLibrary& library) : library_(library) {
  library.check(library.calls().create_handle(&handle_), "a handle");
}

CudnnHandle::~CudnnHandle() {
  if (handle_ != nullptr) {
    static_cast<void>(library_.calls().destroy_handle(handle_));
  }
}

void CudnnHandle::use(abi::Stream stream) {
  if (stream != stream_) {
    library_.check(library_.calls().set_stream(handle_, stream), "a handle's stream");
    stream_ = stream;
  }
}

void CudnnHandle::execute(abi::Descriptor plan, abi::Descriptor pack, abi::Stream stream) {
  use(stream);
  library_.check(library_.calls().execute(handle_, plan, pack), "executing a plan");
}

}  // namespace plumb::cuda
