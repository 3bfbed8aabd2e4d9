// SPDX-License-Identifier: Apache-2.0
#pragma once
// The library is loaded at run time, because most computers scan no code with a camera, and some have no PipeWire.
#include "interface.h"
#include <dlfcn.h>
#include <stdbool.h>

#define HYBRID_PIPEWIRE_FUNCTIONS(use)                                                                                 \
    use(void, pw_init, (int *, char ***))                                                                              \
    use(void, pw_log_set_level, (enum spa_log_level))                                                                  \
    use(struct pw_loop *, pw_loop_new, (const struct spa_dict *))                                                      \
    use(void, pw_loop_destroy, (struct pw_loop *))                                                                     \
    use(struct pw_context *, pw_context_new, (struct pw_loop *, struct pw_properties *, size_t))                       \
    use(void, pw_context_destroy, (struct pw_context *))                                                               \
    use(struct pw_core *, pw_context_connect, (struct pw_context *, struct pw_properties *, size_t))                   \
    use(int, pw_core_disconnect, (struct pw_core *))                                                                   \
    use(void, pw_proxy_destroy, (struct pw_proxy *))                                                                   \
    use(struct pw_properties *, pw_properties_new_string, (const char *))                                              \
    use(struct pw_stream *, pw_stream_new, (struct pw_core *, const char *, struct pw_properties *))                   \
    use(void, pw_stream_destroy, (struct pw_stream *))                                                                 \
    use(int, pw_stream_update_params, (struct pw_stream *, const struct spa_pod **, uint32_t))

// The functions that this program calls; the second macro has those with types of interface.h.
#define HYBRID_PIPEWIRE_STREAM_FUNCTIONS(use)                                                                          \
    use(void, pw_stream_add_listener,                                                                                  \
        (struct pw_stream *, struct spa_hook *, const struct hybrid_stream_events *, void *))                          \
    use(int, pw_stream_connect,                                                                                        \
        (struct pw_stream *, enum spa_direction, uint32_t, int, const struct spa_pod **, uint32_t))                    \
    use(struct hybrid_buffer *, pw_stream_dequeue_buffer, (struct pw_stream *))                                        \
    use(int, pw_stream_queue_buffer, (struct pw_stream *, struct hybrid_buffer *))

struct hybrid_pipewire {
#define HYBRID_FIELD(result, name, parameters) result(*_Nonnull name) parameters;
    HYBRID_PIPEWIRE_FUNCTIONS(HYBRID_FIELD)
    HYBRID_PIPEWIRE_STREAM_FUNCTIONS(HYBRID_FIELD)
#undef HYBRID_FIELD
};

// Loads the library for the life of the process. Returns false if it is missing; then dlerror has the reason.
static inline bool hybrid_pipewire_load(struct hybrid_pipewire *_Nonnull pipewire) {
    void *library = dlopen("libpipewire-0.3.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
#define HYBRID_LOAD(result, name, parameters)                                                                          \
    {                                                                                                                  \
        void *symbol = dlsym(library, #name);                                                                          \
        if (!symbol) return false;                                                                                     \
        pipewire->name = (result(*) parameters)symbol;                                                                 \
    }
    HYBRID_PIPEWIRE_FUNCTIONS(HYBRID_LOAD)
    HYBRID_PIPEWIRE_STREAM_FUNCTIONS(HYBRID_LOAD)
#undef HYBRID_LOAD
    pipewire->pw_init(NULL, NULL);
    // Standard error belongs to the program.
    pipewire->pw_log_set_level(SPA_LOG_LEVEL_NONE);
    return true;
}
