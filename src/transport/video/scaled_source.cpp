// SPDX-License-Identifier: Apache-2.0
#if OFFRAMP_HAS_FFMPEG
#include "transport/video/scaler.hpp"
#include "transport/video/video_source.hpp"

#include <utility>
#include <vector>

extern "C" {
#include <libavutil/imgutils.h>
}

namespace offramp {
namespace {

using namespace decoding;

class ScaledSource final : public FrameSource {
 public:
  ScaledSource(std::unique_ptr<FrameSource> from, const FrameFormat& to, std::size_t threads)
      : from_(std::move(from)),
        format_(to),
        scaler_(to, threads),
        picture_(own(av_frame_alloc())),
        bytes_(from_->format().size() + AV_INPUT_BUFFER_PADDING_SIZE) {
    const FrameFormat& own_format = from_->format();
    picture_->format = av_format_of(own_format.pixels);
    picture_->width = static_cast<int>(own_format.width);
    picture_->height = static_cast<int>(own_format.height);
    const int size = av_image_fill_arrays(
        picture_->data, picture_->linesize, reinterpret_cast<const std::uint8_t*>(bytes_.data()),
        av_format_of(own_format.pixels), picture_->width, picture_->height, 1);
    if (size < 0) throw_av(size, "frames cannot be converted", {});
    // The frame owns a reference to bytes that are this object's.
    picture_->buf[0] = av_buffer_create(
        reinterpret_cast<std::uint8_t*>(bytes_.data()), bytes_.size(), [](void*, std::uint8_t*) {},
        nullptr, 0);
    if (!picture_->buf[0]) throw OutOfMemory(bytes_.size(), "converting frames");
  }

  [[nodiscard]] const FrameFormat& format() const noexcept override { return format_; }
  [[nodiscard]] std::optional<std::uint64_t> count() const noexcept override {
    return from_->count();
  }

  [[nodiscard]] bool read(std::span<std::byte> frame) override {
    const FrameFormat& own_format = from_->format();
    if (!from_->read(std::span(bytes_).first(own_format.size()))) return false;
    scaler_.put(*picture_, {.matrix = own_format.matrix, .range = own_format.range}, frame);
    return true;
  }

 private:
  std::unique_ptr<FrameSource> from_;
  FrameFormat format_;
  Scaler scaler_;
  Owned<AVFrame> picture_;
  std::vector<std::byte> bytes_;
};

}  // namespace

std::unique_ptr<FrameSource> make_scaled_source(std::unique_ptr<FrameSource> from,
                                                const FrameSourceOptions& options) {
  FrameFormat to = from->format();
  to.pixels =
      options.pixels ? *options.pixels : nearest_format(av_format_of(to.pixels), options.accepts);
  to.width = options.width.value_or(to.width);
  to.height = options.height.value_or(to.height);
  if (!is_yuv(from->format().pixels)) {
    to.matrix = options.matrix.value_or(ColorMatrix::bt709);
    to.range = options.range.value_or(ColorRange::limited);
  }
  if (to == from->format()) return from;
  return std::make_unique<ScaledSource>(std::move(from), to, options.threads);
}

}  // namespace offramp
#endif
