// SPDX-License-Identifier: Apache-2.0
#pragma once
// Formats and other parameters of streams as PODs, which are built and parsed by variadic functions and macros.
#include <spa/param/buffers.h>
#include <spa/param/param.h>
#include <spa/param/video/format-utils.h>
#include <stdbool.h>

// The format on which a camera and this program have agreed.
struct hybrid_video_format {
    bool is_jpeg;
    // enum spa_video_format; 0 for JPEG.
    uint32_t format;
    uint32_t width;
    uint32_t height;
};

enum { HYBRID_FORMAT_PARAMS = 4, HYBRID_BUFFER_PARAMS = 3 };

// Writes the formats that are offered to a camera into the memory, best first, because the camera takes the first that it
// has. Returns false if the memory is too small.
static inline bool hybrid_build_formats(
    void *_Nonnull memory, uint32_t size, const uint32_t *_Nonnull formats, uint32_t count,
    const struct spa_pod *_Nullable *_Nonnull params) {
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, size);
    for (int index = 0; index < HYBRID_FORMAT_PARAMS; index++) {
        const bool is_large = index < 2, is_jpeg = index % 2;
        const struct spa_rectangle best = is_large ? SPA_RECTANGLE(960, 540) : SPA_RECTANGLE(640, 480);
        const struct spa_rectangle least = is_large ? SPA_RECTANGLE(960, 540) : SPA_RECTANGLE(320, 240);
        const struct spa_rectangle most = is_large ? SPA_RECTANGLE(1920, 1080) : SPA_RECTANGLE(4096, 4096);
        struct spa_pod_frame object, choice;
        spa_pod_builder_push_object(&builder, &object, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
        spa_pod_builder_add(
            &builder, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype,
            SPA_POD_Id(is_jpeg ? SPA_MEDIA_SUBTYPE_mjpg : SPA_MEDIA_SUBTYPE_raw), 0);
        if (!is_jpeg && count > 0) {
            spa_pod_builder_prop(&builder, SPA_FORMAT_VIDEO_format, 0);
            spa_pod_builder_push_choice(&builder, &choice, SPA_CHOICE_Enum, 0);
            spa_pod_builder_id(&builder, formats[0]);
            for (uint32_t each = 0; each < count; each++) spa_pod_builder_id(&builder, formats[each]);
            spa_pod_builder_pop(&builder, &choice);
        }
        spa_pod_builder_add(
            &builder, SPA_FORMAT_VIDEO_size, SPA_POD_CHOICE_RANGE_Rectangle(&best, &least, &most),
            SPA_FORMAT_VIDEO_framerate,
            SPA_POD_CHOICE_RANGE_Fraction(&SPA_FRACTION(15, 1), &SPA_FRACTION(0, 1), &SPA_FRACTION(120, 1)), 0);
        params[index] = (const struct spa_pod *)spa_pod_builder_pop(&builder, &object);
        if (!params[index]) return false;
    }
    return builder.state.offset <= size;
}

// Writes what is needed of buffers into the memory. Returns false if the memory is too small.
static inline bool hybrid_build_buffers(
    void *_Nonnull memory, uint32_t size, const struct spa_pod *_Nullable *_Nonnull params) {
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, size);
    const int types = 1 << SPA_DATA_MemPtr | 1 << SPA_DATA_MemFd | 1 << SPA_DATA_DmaBuf;
    params[0] = (const struct spa_pod *)spa_pod_builder_add_object(
        &builder, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers,
        SPA_POD_CHOICE_RANGE_Int(4, 2, 8), SPA_PARAM_BUFFERS_dataType, SPA_POD_CHOICE_FLAGS_Int(types));
    params[1] = (const struct spa_pod *)spa_pod_builder_add_object(
        &builder, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type, SPA_POD_Id(SPA_META_Header),
        SPA_PARAM_META_size, SPA_POD_Int(sizeof(struct spa_meta_header)));
    params[2] = (const struct spa_pod *)spa_pod_builder_add_object(
        &builder, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type,
        SPA_POD_Id(SPA_META_VideoTransform), SPA_PARAM_META_size,
        SPA_POD_Int(sizeof(struct spa_meta_videotransform)));
    return params[0] && params[1] && params[2] && builder.state.offset <= size;
}

// Reads the format on which both sides have agreed. Returns false if it is none that was offered.
static inline bool hybrid_read_format(
    const struct spa_pod *_Nonnull param, struct hybrid_video_format *_Nonnull format) {
    uint32_t type, subtype;
    if (spa_format_parse(param, &type, &subtype) < 0 || type != SPA_MEDIA_TYPE_video) return false;
    if (subtype == SPA_MEDIA_SUBTYPE_mjpg) {
        struct spa_video_info_mjpg info = {0};
        if (spa_format_video_mjpg_parse(param, &info) < 0) return false;
        *format = (struct hybrid_video_format){true, 0, info.size.width, info.size.height};
        return true;
    }
    struct spa_video_info_raw info = {0};
    if (subtype != SPA_MEDIA_SUBTYPE_raw || spa_format_video_raw_parse(param, &info) < 0) return false;
    *format = (struct hybrid_video_format){false, info.format, info.size.width, info.size.height};
    return true;
}

// Returns true if a format that a camera offers has colors.
static inline bool hybrid_format_has_color(const struct spa_pod *_Nonnull param) {
    uint32_t type, subtype;
    if (spa_format_parse(param, &type, &subtype) < 0 || type != SPA_MEDIA_TYPE_video) return false;
    if (subtype != SPA_MEDIA_SUBTYPE_raw) return true;
    const struct spa_pod_prop *property = spa_pod_find_prop(param, NULL, SPA_FORMAT_VIDEO_format);
    if (!property) return true;
    uint32_t count = 0, choice;
    const struct spa_pod *values = spa_pod_get_values(&property->value, &count, &choice);
    if (!values || values->type != SPA_TYPE_Id || values->size != sizeof(uint32_t)) return true;
    const uint32_t *formats = (const uint32_t *)SPA_POD_BODY_CONST(values);
    for (uint32_t index = 0; index < count; index++) {
        switch (formats[index]) {
        case SPA_VIDEO_FORMAT_GRAY8:
        case SPA_VIDEO_FORMAT_GRAY16_BE:
        case SPA_VIDEO_FORMAT_GRAY16_LE: break;
        default: return true;
        }
    }
    return false;
}
