// SPDX-License-Identifier: Apache-2.0
// Compiles only if CHybridPipeWire describes the binary interface as the headers of libpipewire do.
#define _Nonnull
#define _Nullable
#include "../../../Sources/Support/CLibraries/CHybridPipeWire/calls.h"
#include "../../../Sources/Support/CLibraries/CHybridPipeWire/shim.h"
#include <pipewire/pipewire.h>

#define SAME(ours, theirs, member)                                                                                     \
    _Static_assert(offsetof(struct ours, member) == offsetof(struct theirs, member), #ours "." #member);
SAME(hybrid_loop, pw_loop, control)
SAME(hybrid_buffer, pw_buffer, buffer)
SAME(hybrid_node_info, pw_node_info, props)
SAME(hybrid_core_events, pw_core_events, version)
SAME(hybrid_core_events, pw_core_events, done)
SAME(hybrid_core_events, pw_core_events, error)
SAME(hybrid_core_events, pw_core_events, remove_mem)
SAME(hybrid_registry_events, pw_registry_events, global)
SAME(hybrid_registry_events, pw_registry_events, global_remove)
SAME(hybrid_node_events, pw_node_events, info)
SAME(hybrid_node_events, pw_node_events, param)
SAME(hybrid_stream_events, pw_stream_events, state_changed)
SAME(hybrid_stream_events, pw_stream_events, param_changed)
SAME(hybrid_stream_events, pw_stream_events, remove_buffer)
SAME(hybrid_stream_events, pw_stream_events, process)
SAME(hybrid_stream_events, pw_stream_events, trigger_done)
SAME(hybrid_core_methods, pw_core_methods, add_listener)
SAME(hybrid_core_methods, pw_core_methods, sync)
SAME(hybrid_core_methods, pw_core_methods, get_registry)
SAME(hybrid_registry_methods, pw_registry_methods, add_listener)
SAME(hybrid_registry_methods, pw_registry_methods, bind)
SAME(hybrid_node_methods, pw_node_methods, add_listener)
SAME(hybrid_node_methods, pw_node_methods, enum_params)

#define TYPE(result, name, parameters)                                                                                 \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&name), result(*) parameters), #name);
HYBRID_PIPEWIRE_FUNCTIONS(TYPE)

_Static_assert(HYBRID_STREAM_EVENTS_VERSION <= PW_VERSION_STREAM_EVENTS, "events of a stream");
_Static_assert(PW_VERSION_CORE_METHODS == 0 && PW_VERSION_REGISTRY_METHODS == 0 && PW_VERSION_NODE_METHODS == 0, "methods");
_Static_assert(PW_VERSION_REGISTRY == 3 && PW_VERSION_NODE == 3, "interfaces");
_Static_assert(PW_ID_CORE == 0 && PW_ID_ANY == UINT32_MAX, "identifiers");
_Static_assert(
    HYBRID_STREAM_FLAGS == (PW_STREAM_FLAG_AUTOCONNECT | PW_STREAM_FLAG_MAP_BUFFERS | PW_STREAM_FLAG_DONT_RECONNECT),
    "flags");
_Static_assert(HYBRID_STREAM_ERROR == (int)PW_STREAM_STATE_ERROR, "states");
_Static_assert(HYBRID_STREAM_STREAMING == (int)PW_STREAM_STATE_STREAMING, "states");
