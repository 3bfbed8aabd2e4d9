// SPDX-License-Identifier: Apache-2.0
#pragma once
// Methods of PipeWire's interfaces, which are called by macros.
#include "interface.h"
#include <errno.h>
#include <stdbool.h>
#include <string.h>

static inline struct spa_loop_control *_Nonnull hybrid_loop_control(struct pw_loop *_Nonnull loop) {
    return ((struct hybrid_loop *)loop)->control;
}

static inline void hybrid_loop_enter(struct pw_loop *_Nonnull loop) { spa_loop_control_enter(hybrid_loop_control(loop)); }
static inline void hybrid_loop_leave(struct pw_loop *_Nonnull loop) { spa_loop_control_leave(hybrid_loop_control(loop)); }

static inline int hybrid_loop_descriptor(struct pw_loop *_Nonnull loop) {
    return spa_loop_control_get_fd(hybrid_loop_control(loop));
}

// Performs the work that is due, and returns the number of events.
static inline int hybrid_loop_iterate(struct pw_loop *_Nonnull loop) {
    return spa_loop_control_iterate(hybrid_loop_control(loop), 0);
}

static inline void hybrid_hook_remove(struct spa_hook *_Nonnull hook) { spa_hook_remove(hook); }

static inline void hybrid_core_listen(
    struct pw_core *_Nonnull core, struct spa_hook *_Nonnull hook, const struct hybrid_core_events *_Nonnull events,
    void *_Nullable data) {
    spa_interface_call((struct spa_interface *)core, struct hybrid_core_methods, add_listener, 0, hook, events, data);
}

// Returns the number that the event `done` will have.
static inline int hybrid_core_sync(struct pw_core *_Nonnull core) {
    int result = -ENOTSUP;
    spa_interface_call_res((struct spa_interface *)core, struct hybrid_core_methods, result, sync, 0, 0, 0);
    return result;
}

static inline struct pw_registry *_Nullable hybrid_core_registry(struct pw_core *_Nonnull core) {
    struct pw_registry *result = NULL;
    const uint32_t version = 3;
    spa_interface_call_res(
        (struct spa_interface *)core, struct hybrid_core_methods, result, get_registry, 0, version, 0);
    return result;
}

static inline void hybrid_registry_listen(
    struct pw_registry *_Nonnull registry, struct spa_hook *_Nonnull hook,
    const struct hybrid_registry_events *_Nonnull events, void *_Nullable data) {
    spa_interface_call(
        (struct spa_interface *)registry, struct hybrid_registry_methods, add_listener, 0, hook, events, data);
}

#define HYBRID_NODE_TYPE "PipeWire:Interface:Node"

static inline bool hybrid_is_node(const char *_Nonnull type) { return strcmp(type, HYBRID_NODE_TYPE) == 0; }

static inline struct pw_node *_Nullable hybrid_registry_bind_node(struct pw_registry *_Nonnull registry, uint32_t id) {
    void *result = NULL;
    const uint32_t version = 3;
    spa_interface_call_res(
        (struct spa_interface *)registry, struct hybrid_registry_methods, result, bind, 0, id, HYBRID_NODE_TYPE, version,
        0);
    return (struct pw_node *)result;
}

static inline void hybrid_node_listen(
    struct pw_node *_Nonnull node, struct spa_hook *_Nonnull hook, const struct hybrid_node_events *_Nonnull events,
    void *_Nullable data) {
    spa_interface_call((struct spa_interface *)node, struct hybrid_node_methods, add_listener, 0, hook, events, data);
}

// Asks for all formats of the node, which follow as events `param`.
static inline void hybrid_node_ask_formats(struct pw_node *_Nonnull node) {
    spa_interface_call(
        (struct spa_interface *)node, struct hybrid_node_methods, enum_params, 0, 0, SPA_PARAM_EnumFormat, 0, UINT32_MAX,
        NULL);
}
