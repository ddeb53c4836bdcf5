// SPDX-License-Identifier: Apache-2.0
#include <offramp/core/buffer.hpp>

#include <utility>

namespace offramp {

Buffer::Buffer(StreamRef stream, MemoryResource& from, std::size_t size)
    : data_(from.allocate_async(stream, size)),
      size_(size),
      from_(&from),
      driver_(&stream.driver()),
      stream_(stream.native()) {}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      from_(other.from_),
      driver_(other.driver_),
      stream_(other.stream_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    release();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    from_ = other.from_;
    driver_ = other.driver_;
    stream_ = other.stream_;
  }
  return *this;
}

Buffer::~Buffer() { release(); }

void Buffer::set_stream(StreamRef stream) noexcept {
  driver_ = &stream.driver();
  stream_ = stream.native();
}

void Buffer::release() noexcept {
  if (data_) from_->free_async(StreamRef(*driver_, stream_), data_, size_);
}

}  // namespace offramp
