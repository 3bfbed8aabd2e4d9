// SPDX-License-Identifier: Apache-2.0
// A virtual camera of PipeWire for tests, which can lie about its frames:
//
//     camera format=NV12 width=960 height=540 file=gray.raw [lie=short] [node.name=test] [api.libcamera.location=back] …
//
// Other words are properties of the node. The file has one byte of gray per pixel, or for format=MJPG a JPEG. All other
// samples of a frame are negative, so that a reader that takes the wrong one finds no code. The program prints "ready" when
// the daemon has the node, and "frames" when frames flow, "idle" when no program takes them any more, and runs until a signal.
#include <pipewire/pipewire.h>
#include <signal.h>
#include <spa/buffer/meta.h>
#include <spa/param/buffers.h>
#include <spa/param/video/format-utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    struct pw_main_loop *loop;
    struct pw_stream *stream;
    struct spa_source *timer;
    uint8_t *image;
    size_t image_size;
    uint32_t width, height, format;
    const char *lie, *transform;
    long stop, frames;
    // Buffers that a client has not given back before it ended are not returned by old versions of PipeWire.
    struct pw_buffer *buffers[64];
    int buffer_count, misses;
    int rate, padding, is_jpeg, is_ready;
} camera;

static const struct {
    const char *name;
    uint32_t format;
    // Bytes per pixel and position of gray, for formats in one plane; the planes of colors follow with half the bytes.
    int step, gray, has_planes;
} formats[] = {
    {"GRAY8", SPA_VIDEO_FORMAT_GRAY8, 1, 0, 0}, {"NV12", SPA_VIDEO_FORMAT_NV12, 1, 0, 1},
    {"NV21", SPA_VIDEO_FORMAT_NV21, 1, 0, 1},   {"I420", SPA_VIDEO_FORMAT_I420, 1, 0, 1},
    {"YV12", SPA_VIDEO_FORMAT_YV12, 1, 0, 1},   {"YUY2", SPA_VIDEO_FORMAT_YUY2, 2, 0, 0},
    {"UYVY", SPA_VIDEO_FORMAT_UYVY, 2, 1, 0},   {"RGBx", SPA_VIDEO_FORMAT_RGBx, 4, 1, 0},
    {"BGRx", SPA_VIDEO_FORMAT_BGRx, 4, 1, 0},   {"RGBA", SPA_VIDEO_FORMAT_RGBA, 4, 1, 0},
    {"BGRA", SPA_VIDEO_FORMAT_BGRA, 4, 1, 0},   {"xRGB", SPA_VIDEO_FORMAT_xRGB, 4, 2, 0},
    {"xBGR", SPA_VIDEO_FORMAT_xBGR, 4, 2, 0},   {"RGB", SPA_VIDEO_FORMAT_RGB, 3, 1, 0},
    {"BGR", SPA_VIDEO_FORMAT_BGR, 3, 1, 0},     {"GRAY16", SPA_VIDEO_FORMAT_GRAY16_LE, 2, 1, 0},
};
static int kind;

static int lies(const char *lie) { return camera.lie && strcmp(camera.lie, lie) == 0; }

// Twice as many bytes per row as needed, at most, so that padding may change from frame to frame.
static uint32_t row_bytes(void) { return camera.width * formats[kind].step; }
static uint32_t buffer_size(void) {
    if (camera.is_jpeg) return camera.image_size + 4096;
    return row_bytes() * 2 * camera.height * (formats[kind].has_planes ? 3 : 2) / 2 + 4096;
}

static void fill(struct spa_buffer *buffer) {
    struct spa_data *data = &buffer->datas[0];
    uint8_t *target = data->data;
    struct spa_chunk *chunk = data->chunk;
    uint32_t stride = row_bytes(), size;
    if (!target) return;
    if (lies("padding")) stride += 4 * (camera.frames % 16);
    *chunk = (struct spa_chunk){0};
    if (camera.is_jpeg) {
        memcpy(target, camera.image, size = camera.image_size);
        stride = 0;
    } else {
        size = stride * camera.height;
        for (uint32_t y = 0; y < camera.height; y++) {
            for (uint32_t x = 0; x < camera.width; x++) {
                const uint8_t gray = camera.image[y * camera.width + x];
                uint8_t *pixel = target + y * stride + x * formats[kind].step;
                for (int each = 0; each < formats[kind].step; each++)
                    pixel[each] = each == formats[kind].gray ? gray : 255 - gray;
            }
        }
        if (formats[kind].has_planes) {
            memset(target + size, 128, size / 2);
            size += size / 2;
        }
    }
    chunk->size = size;
    chunk->stride = (int32_t)stride;
    if (lies("short")) chunk->size = size / 2;
    if (lies("offset")) chunk->offset = data->maxsize - 16;
    if (lies("wrap")) chunk->offset = 0xFFFFFFF0;
    if (lies("stride-large")) chunk->stride = (int32_t)stride * 100;
    if (lies("stride-huge")) chunk->stride = 0x7FFFFFFF;
    if (lies("stride-small")) chunk->stride = (int32_t)stride / 2;
    if (lies("stride-negative")) chunk->stride = -(int32_t)stride;
    if (lies("corrupt")) chunk->flags = SPA_CHUNK_FLAG_CORRUPTED;
    if (lies("empty")) chunk->size = 0;
    struct spa_meta_header *header = spa_buffer_find_meta_data(buffer, SPA_META_Header, sizeof *header);
    if (header) *header = (struct spa_meta_header){.flags = lies("header") ? SPA_META_HEADER_FLAG_CORRUPTED : 0};
    struct spa_meta_videotransform *turn = spa_buffer_find_meta_data(buffer, SPA_META_VideoTransform, sizeof *turn);
    if (turn) turn->transform = camera.transform ? atoi(camera.transform) : 0;
    if (lies("truncate") && data->type == SPA_DATA_MemFd && ftruncate(data->fd, 4096) != 0) perror("truncate");
}

static void on_process(void *unused) {
    struct pw_buffer *buffer = pw_stream_dequeue_buffer(camera.stream);
    if (!buffer && ++camera.misses > 10 && camera.buffer_count > 0)
        buffer = camera.buffers[camera.misses % camera.buffer_count];
    else if (buffer) camera.misses = 0;
    if (!buffer) return;
    if (camera.frames++ == 0) puts("frames");
    fill(buffer->buffer);
    pw_stream_queue_buffer(camera.stream, buffer);
}

static void on_timer(void *unused, uint64_t expirations) {
    if (camera.stop && camera.frames >= camera.stop) return;
    pw_stream_trigger_process(camera.stream);
}

static void on_state(void *unused, enum pw_stream_state old, enum pw_stream_state state, const char *error) {
    if (state == PW_STREAM_STATE_ERROR) fprintf(stderr, "error: %s\n", error);
    if (state == PW_STREAM_STATE_PAUSED && !camera.is_ready) {
        camera.is_ready = 1;
        printf("ready %u\n", pw_stream_get_node_id(camera.stream));
    }
    if (old == PW_STREAM_STATE_STREAMING) puts("idle");
    struct timespec first = {0, 1}, interval = {0, 1000000000 / camera.rate};
    const int is_on = state == PW_STREAM_STATE_STREAMING;
    pw_loop_update_timer(
        pw_main_loop_get_loop(camera.loop), camera.timer, is_on ? &first : NULL, is_on ? &interval : NULL, false);
}

// Gives the buffer memory of the camera's own, which it can truncate, for that lie.
static void on_add_buffer(void *unused, struct pw_buffer *buffer) {
    struct spa_data *data = &buffer->buffer->datas[0];
    if (camera.buffer_count < 64) camera.buffers[camera.buffer_count++] = buffer;
    if (!lies("truncate")) return;
    data->type = SPA_DATA_MemFd;
    data->flags = SPA_DATA_FLAG_READWRITE;
    data->fd = memfd_create("camera", MFD_CLOEXEC);
    data->mapoffset = 0;
    data->maxsize = buffer_size();
    if (ftruncate(data->fd, data->maxsize) != 0) perror("ftruncate");
    data->data = mmap(NULL, data->maxsize, PROT_READ | PROT_WRITE, MAP_SHARED, data->fd, 0);
    // The camera itself must survive.
    data->data = memcpy(malloc(data->maxsize), data->data, data->maxsize);
}

static void on_remove_buffer(void *unused, struct pw_buffer *buffer) { camera.buffer_count = 0; }

static void on_param(void *unused, uint32_t id, const struct spa_pod *param) {
    if (id != SPA_PARAM_Format || !param) return;
    uint8_t memory[1024];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_pod *params[3];
    params[0] = spa_pod_builder_add_object(
        &builder, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers,
        SPA_POD_CHOICE_RANGE_Int(4, 2, 8), SPA_PARAM_BUFFERS_blocks, SPA_POD_Int(1), SPA_PARAM_BUFFERS_size,
        SPA_POD_Int((int)buffer_size()), SPA_PARAM_BUFFERS_stride, SPA_POD_Int((int)row_bytes()),
        SPA_PARAM_BUFFERS_dataType, SPA_POD_CHOICE_FLAGS_Int(1 << SPA_DATA_MemPtr | 1 << SPA_DATA_MemFd));
    params[1] = spa_pod_builder_add_object(
        &builder, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type, SPA_POD_Id(SPA_META_Header),
        SPA_PARAM_META_size, SPA_POD_Int(sizeof(struct spa_meta_header)));
    params[2] = spa_pod_builder_add_object(
        &builder, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type, SPA_POD_Id(SPA_META_VideoTransform),
        SPA_PARAM_META_size, SPA_POD_Int(sizeof(struct spa_meta_videotransform)));
    pw_stream_update_params(camera.stream, params, camera.transform ? 3 : 2);
}

static const struct pw_stream_events events = {
    PW_VERSION_STREAM_EVENTS, .state_changed = on_state, .param_changed = on_param, .process = on_process,
    .add_buffer = on_add_buffer, .remove_buffer = on_remove_buffer,
};

static void quit(void *unused, int signal) { pw_main_loop_quit(camera.loop); }

int main(int count, char **arguments) {
    const char *format = "YUY2", *file = NULL;
    struct pw_properties *properties;
    setvbuf(stdout, NULL, _IOLBF, 0);
    camera.width = 960, camera.height = 540, camera.rate = 30;
    pw_init(NULL, NULL);
    properties = pw_properties_new(
        PW_KEY_MEDIA_CLASS, "Video/Source", PW_KEY_MEDIA_ROLE, "Camera", PW_KEY_NODE_NAME, "test", NULL);
    for (int index = 1; index < count; index++) {
        char *value = strchr(arguments[index], '=');
        if (!value) return 64;
        *value++ = 0;
        const char *key = arguments[index];
        if (!strcmp(key, "format")) format = value;
        else if (!strcmp(key, "width")) camera.width = atoi(value);
        else if (!strcmp(key, "height")) camera.height = atoi(value);
        else if (!strcmp(key, "file")) file = value;
        else if (!strcmp(key, "rate")) camera.rate = atoi(value);
        else if (!strcmp(key, "lie")) camera.lie = value;
        else if (!strcmp(key, "transform")) camera.transform = value;
        else if (!strcmp(key, "stop")) camera.stop = atol(value);
        else pw_properties_set(properties, key, value);
    }
    camera.is_jpeg = !strcmp(format, "MJPG");
    for (size_t index = 0; index < SPA_N_ELEMENTS(formats); index++)
        if (!strcmp(formats[index].name, format)) kind = index;
    FILE *stream = file ? fopen(file, "rb") : NULL;
    if (!stream) return 66;
    camera.image = calloc(1, camera.image_size = 64 << 20);
    camera.image_size = fread(camera.image, 1, camera.image_size, stream);
    if (!camera.is_jpeg && camera.image_size < (size_t)camera.width * camera.height) return 65;

    camera.loop = pw_main_loop_new(NULL);
    struct pw_loop *loop = pw_main_loop_get_loop(camera.loop);
    pw_loop_add_signal(loop, SIGTERM, quit, NULL);
    camera.timer = pw_loop_add_timer(loop, on_timer, NULL);
    camera.stream = pw_stream_new_simple(loop, "camera", properties, &events, NULL);
    uint8_t memory[1024];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_rectangle size = {camera.width, camera.height};
    const struct spa_fraction rate = {camera.rate, 1};
    const struct spa_pod *param =
        camera.is_jpeg
            ? spa_pod_builder_add_object(
                  &builder, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat, SPA_FORMAT_mediaType,
                  SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype, SPA_POD_Id(SPA_MEDIA_SUBTYPE_mjpg),
                  SPA_FORMAT_VIDEO_size, SPA_POD_Rectangle(&size), SPA_FORMAT_VIDEO_framerate, SPA_POD_Fraction(&rate))
            : spa_pod_builder_add_object(
                  &builder, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat, SPA_FORMAT_mediaType,
                  SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype, SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw),
                  SPA_FORMAT_VIDEO_format, SPA_POD_Id(formats[kind].format), SPA_FORMAT_VIDEO_size,
                  SPA_POD_Rectangle(&size), SPA_FORMAT_VIDEO_framerate, SPA_POD_Fraction(&rate));
    const int flags =
        PW_STREAM_FLAG_DRIVER | PW_STREAM_FLAG_MAP_BUFFERS | (lies("truncate") ? PW_STREAM_FLAG_ALLOC_BUFFERS : 0);
    if (pw_stream_connect(camera.stream, PW_DIRECTION_OUTPUT, PW_ID_ANY, flags, &param, 1) < 0) return 69;
    return pw_main_loop_run(camera.loop) < 0;
}
