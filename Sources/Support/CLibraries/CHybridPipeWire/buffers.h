// SPDX-License-Identifier: Apache-2.0
#pragma once
// Buffers of a stream. What another program can change at any time is read once.
#include <linux/dma-buf.h>
#include <spa/buffer/buffer.h>
#include <spa/buffer/meta.h>
#include <stdbool.h>
#include <sys/ioctl.h>

// The part of a block's memory that has data, as the camera says.
struct hybrid_chunk {
    uint32_t offset;
    uint32_t size;
    int32_t stride;
    bool is_corrupted;
};

static inline struct hybrid_chunk hybrid_read_chunk(const struct spa_data *_Nonnull data) {
    const volatile struct spa_chunk *chunk = data->chunk;
    if (!chunk) return (struct hybrid_chunk){0, 0, 0, true};
    return (struct hybrid_chunk){
        chunk->offset, chunk->size, chunk->stride, (chunk->flags & SPA_CHUNK_FLAG_CORRUPTED) != 0};
}

// Returns true if the header of the buffer says that its data are corrupted.
static inline bool hybrid_is_corrupted(const struct spa_buffer *_Nonnull buffer) {
    const volatile struct spa_meta_header *header = (const volatile struct spa_meta_header *)spa_buffer_find_meta_data(
        buffer, SPA_META_Header, sizeof(struct spa_meta_header));
    return header && (header->flags & SPA_META_HEADER_FLAG_CORRUPTED);
}

// Returns the transformation of the picture (enum spa_meta_videotransform_value); -1 if the buffer has none.
static inline int hybrid_transformation(const struct spa_buffer *_Nonnull buffer) {
    const volatile struct spa_meta_videotransform *meta =
        (const volatile struct spa_meta_videotransform *)spa_buffer_find_meta_data(
            buffer, SPA_META_VideoTransform, sizeof(struct spa_meta_videotransform));
    if (!meta) return -1;
    const uint32_t transform = meta->transform;
    return transform <= SPA_META_TRANSFORMATION_Flipped270 ? (int)transform : -1;
}

// Marks the beginning or the end of reading from a DMA-BUF, whose memory the processor's cache may not follow.
static inline bool hybrid_dma_sync(int descriptor, bool is_beginning) {
    struct dma_buf_sync sync = {DMA_BUF_SYNC_READ | (is_beginning ? DMA_BUF_SYNC_START : DMA_BUF_SYNC_END)};
    return ioctl(descriptor, DMA_BUF_IOCTL_SYNC, &sync) == 0;
}
