// SPDX-License-Identifier: Apache-2.0
#pragma once
// The part of libpipewire-0.3's binary interface that this program uses, which does not change within that version.
//
// The library's own headers are not used, because pkg-config names them and the library together, and the program would be
// linked with it. Those of SPA, which describe all data, are headers only. The tests compare this file with the library's.
#include <spa/buffer/buffer.h>
#include <spa/param/param.h>
#include <spa/support/loop.h>
#include <spa/support/log.h>
#include <spa/utils/dict.h>
#include <spa/utils/hook.h>
#include <stddef.h>
#include <stdint.h>

struct pw_context;
struct pw_core;
struct pw_loop;
struct pw_node;
struct pw_properties;
struct pw_proxy;
struct pw_registry;
struct pw_stream;

// The beginning of struct pw_loop.
struct hybrid_loop {
    struct spa_system *system;
    struct spa_loop *loop;
    struct spa_loop_control *control;
};

// The beginning of struct pw_buffer.
struct hybrid_buffer {
    struct spa_buffer *buffer;
};

// The beginning of struct pw_node_info.
struct hybrid_node_info {
    uint32_t id, max_input_ports, max_output_ports;
    uint64_t change_mask;
    uint32_t n_input_ports, n_output_ports;
    int state;
    const char *error;
    struct spa_dict *props;
};

// struct pw_core_events, version 0.
struct hybrid_core_events {
    uint32_t version;
    void (*info)(void *data, const void *info);
    void (*done)(void *data, uint32_t id, int number);
    void (*ping)(void *data, uint32_t id, int number);
    void (*error)(void *data, uint32_t id, int number, int result, const char *message);
    void (*remove_id)(void *data, uint32_t id);
    void (*bound_id)(void *data, uint32_t id, uint32_t global);
    void (*add_mem)(void *data, uint32_t id, uint32_t type, int descriptor, uint32_t flags);
    void (*remove_mem)(void *data, uint32_t id);
};

// struct pw_registry_events, version 0.
struct hybrid_registry_events {
    uint32_t version;
    void (*global)(
        void *data, uint32_t id, uint32_t permissions, const char *type, uint32_t version,
        const struct spa_dict *properties);
    void (*global_remove)(void *data, uint32_t id);
};

// struct pw_node_events, version 0.
struct hybrid_node_events {
    uint32_t version;
    void (*info)(void *data, const struct hybrid_node_info *info);
    void (*param)(void *data, int number, uint32_t id, uint32_t index, uint32_t next, const struct spa_pod *param);
};

// struct pw_stream_events, version 2.
struct hybrid_stream_events {
    uint32_t version;
    void (*destroy)(void *data);
    void (*state_changed)(void *data, int old, int state, const char *error);
    void (*control_info)(void *data, uint32_t id, const void *control);
    void (*io_changed)(void *data, uint32_t id, void *area, uint32_t size);
    void (*param_changed)(void *data, uint32_t id, const struct spa_pod *param);
    void (*add_buffer)(void *data, struct hybrid_buffer *buffer);
    void (*remove_buffer)(void *data, struct hybrid_buffer *buffer);
    void (*process)(void *data);
    void (*drained)(void *data);
    void (*command)(void *data, const void *command);
    void (*trigger_done)(void *data);
};

enum { HYBRID_STREAM_EVENTS_VERSION = 2 };

// Those of enum pw_stream_state that are used.
enum { HYBRID_STREAM_ERROR = -1, HYBRID_STREAM_STREAMING = 3 };

// Those of enum pw_stream_flags that are used: PW_STREAM_FLAG_AUTOCONNECT, MAP_BUFFERS, DONT_RECONNECT.
enum { HYBRID_STREAM_FLAGS = 1 << 0 | 1 << 2 | 1 << 7 };

// struct pw_core_methods, version 0.
struct hybrid_core_methods {
    uint32_t version;
    int (*add_listener)(
        void *object, struct spa_hook *hook, const struct hybrid_core_events *events, void *data);
    int (*hello)(void *object, uint32_t version);
    int (*sync)(void *object, uint32_t id, int number);
    int (*pong)(void *object, uint32_t id, int number);
    int (*error)(void *object, uint32_t id, int number, int result, const char *message);
    struct pw_registry *(*get_registry)(void *object, uint32_t version, size_t user_data_size);
};

// struct pw_registry_methods, version 0.
struct hybrid_registry_methods {
    uint32_t version;
    int (*add_listener)(
        void *object, struct spa_hook *hook, const struct hybrid_registry_events *events, void *data);
    void *(*bind)(void *object, uint32_t id, const char *type, uint32_t version, size_t user_data_size);
};

// struct pw_node_methods, version 0.
struct hybrid_node_methods {
    uint32_t version;
    int (*add_listener)(void *object, struct spa_hook *hook, const struct hybrid_node_events *events, void *data);
    int (*subscribe_params)(void *object, uint32_t *ids, uint32_t count);
    int (*enum_params)(
        void *object, int number, uint32_t id, uint32_t start, uint32_t count, const struct spa_pod *filter);
};
