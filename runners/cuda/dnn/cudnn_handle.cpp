// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/cudnn_handle.hpp"

namespace plumb::cuda {

CudnnHandle::CudnnHandle(const CudnnLibrary& library)
    : library_(library),
      handle_(make_owned(
          library, library.calls().create_handle, library.calls().destroy_handle, "a handle")) {}

void CudnnHandle::use(abi::Stream stream) {
  if (stream != stream_) {
    library_.check(library_.calls().set_stream(get(), stream), "a handle's stream");
    stream_ = stream;
  }
}

void CudnnHandle::execute(abi::Descriptor plan, abi::Descriptor pack, abi::Stream stream) {
  use(stream);
  library_.check(library_.calls().execute(get(), plan, pack), "executing a plan");
}

}  // namespace plumb::cuda
