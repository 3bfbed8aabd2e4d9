// SPDX-License-Identifier: Apache-2.0
#include "load.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NORMAL_CLOSURE 1000

struct counts counts;

static const struct work *work;
static struct tunnel *tunnels;
static int tunnel_count;
static uint32_t *unused;
static int unused_count;
static uint8_t pattern[2 * LARGEST_MESSAGE];

void tunnels_begin(int most, const struct work *what) {
    work = what;
    if (!tunnels) {
        for (size_t i = 0; i < sizeof pattern; i++) pattern[i] = (uint8_t)chance();
    }
    if (most > tunnel_count) {
        tunnels = room_for(tunnels, (size_t)most * sizeof *tunnels);
        unused = room_for(unused, (size_t)most * sizeof *unused);
        memset(tunnels + tunnel_count, 0, (size_t)(most - tunnel_count) * sizeof *tunnels);
        tunnel_count = most;
    }
    // No tunnel is in use here, and events of earlier ones no longer match a generation.
    unused_count = 0;
    for (int i = tunnel_count - 1; i >= 0; i--) {
        tunnels[i].number = (uint32_t)i;
        tunnels[i].phone.tunnel = tunnels[i].client.tunnel = &tunnels[i];
        tunnels[i].phone.phone = true;
        unused[unused_count++] = (uint32_t)i;
    }
}

struct tunnel *tunnel_at(uint32_t number) { return &tunnels[number]; }

struct end *end_numbered(uint32_t index) {
    struct tunnel *tunnel = tunnel_at(index >> 1);
    return index & 1 ? &tunnel->phone : &tunnel->client;
}

struct end *other_end(struct end *end) { return end->phone ? &end->tunnel->client : &end->tunnel->phone; }

struct tunnel *tunnel_start(void) {
    if (unused_count == 0) return NULL;
    struct tunnel *tunnel = tunnel_at(unused[--unused_count]);
    tunnel->active = true;
    tunnel->joined = tunnel->closing = false;
    tunnel->step = tunnel->resumed = 0;
    tunnel->listens = work->listens;
    tunnel->started = nanoseconds();
    snprintf(tunnel->id, sizeof tunnel->id, "%016llX%016llX", (unsigned long long)chance(),
             (unsigned long long)chance());
    counts.started++;
    counts.active++;
    counts.opening++;
    end_connect(&tunnel->phone);
    return tunnel;
}

static void leave_tunnel(struct tunnel *tunnel) {
    tunnel->active = false;
    counts.active--;
    if (!tunnel->joined) counts.opening--;
    unused[unused_count++] = tunnel->number;
    if (work->ended) work->ended(tunnel);
}

void tunnel_fail(struct tunnel *tunnel, const char *format, ...) {
    if (!tunnel->active) return;
    char reason[120];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    reason_count(reason);
    counts.failed++;
    end_drop(&tunnel->phone);
    end_drop(&tunnel->client);
    leave_tunnel(tunnel);
}

// Each message of each end is another part of the pattern, so that no two are equal.
static const uint8_t *message(const struct end *sender, uint32_t number) {
    uint32_t place = sender->tunnel->number * 7919u + number * 104729u + (sender->phone ? 31u : 0u);
    return pattern + place % LARGEST_MESSAGE;
}

void tunnel_say(struct end *end) {
    uint32_t number = end->sent++;
    websocket_send(end, BINARY, message(end, number), (size_t)work->size(end, number));
}

static void say_close(struct end *end) {
    static const uint8_t code[2] = {NORMAL_CLOSURE >> 8, NORMAL_CLOSURE & 255};
    end->told_close = true;
    websocket_send(end, CLOSE, code, sizeof code);
}

// The client closes; the relay forwards that to the phone, which responds.
void tunnel_close(struct tunnel *tunnel) {
    if (tunnel->closing) return;
    tunnel->closing = true;
    say_close(tunnel->listens ? &tunnel->phone : &tunnel->client);
}

void end_connected(struct end *end) {
    if (!work->handshake_only) {
        websocket_ask(end);
        return;
    }
    end->state = OPEN;
    end->tunnel->closing = true;
    end_half_close(end);
}

size_t end_arrived(struct end *end, const uint8_t *data, size_t length) {
    return end->state == UPGRADING ? websocket_answer(end, data, length) : websocket_frame(end, data, length);
}

void end_open(struct end *end) {
    struct tunnel *tunnel = end->tunnel;
    if (tunnel->listens) return;
    if (end->phone)
        end_connect(&tunnel->client);
    else
        tunnel_joined(tunnel);
}

void tunnel_joined(struct tunnel *tunnel) {
    tunnel->joined = true;
    counts.opening--;
    counts.joined++;
    if (work->joined) work->joined(tunnel);
}

void end_message(struct end *end, int opcode, const uint8_t *data, size_t length) {
    struct tunnel *tunnel = end->tunnel;
    switch (opcode) {
    case PING:
        counts.pings++;
        websocket_send(end, PONG, data, length);
        return;
    case PONG:
        return;
    case CLOSE: {
        int code = length >= 2 ? data[0] << 8 | data[1] : 0;
        if (!tunnel->closing || code != NORMAL_CLOSURE) {
            tunnel_fail(tunnel, "%s: closed with code %d", end->phone ? "phone" : "client", code);
            return;
        }
        if (!end->told_close) say_close(end);
        end->state = CLOSING;
        return;
    }
    case BINARY: {
        if (tunnel->listens) {
            listener_message(end, data, length);
            return;
        }
        const struct end *sender = other_end(end);
        uint32_t number = end->received++;
        if (number >= sender->sent || length != (size_t)work->size(sender, number) ||
            memcmp(data, message(sender, number), length) != 0) {
            tunnel_fail(tunnel, "message %u differs from the one sent", number);
            return;
        }
        counts.messages++;
        counts.bytes += length;
        work->arrived(end, length);
        return;
    }
    default:
        tunnel_fail(tunnel, "a frame with opcode %d", opcode);
    }
}

void end_finished(struct end *end, const char *how) {
    struct tunnel *tunnel = end->tunnel;
    if (!(work->handshake_only && end->state == OPEN) && end->state != CLOSING) {
        tunnel_fail(tunnel, "%s: %s %s", end->phone ? "phone" : "client", how,
                    tunnel->closing    ? "without a Close frame"
                    : end->state == OPEN ? "in the middle"
                                       : "before the upgrade");
        return;
    }
    end_drop(end);
    if (other_end(end)->state != CLOSED) return;
    counts.completed++;
    leave_tunnel(tunnel);
}

static uint64_t progress(void) { return counts.joined + counts.completed + counts.failed + counts.messages; }

// Runs turns until done returns true. Without progress for --patience seconds, all remaining tunnels have failed.
bool wait_until(bool (*done)(void)) {
    uint64_t seen = progress(), since = nanoseconds();
    while (!done()) {
        net_turn(50);
        uint64_t now = nanoseconds();
        if (progress() != seen) {
            seen = progress();
            since = now;
        } else if ((double)(now - since) > options.patience * 1e9) {
            for (int i = 0; i < tunnel_count; i++)
                tunnel_fail(&tunnels[i], "no progress for %.0f s", options.patience);
            return false;
        }
    }
    return true;
}

void turn_for(double seconds) {
    for (uint64_t until = nanoseconds() + (uint64_t)(seconds * 1e9), now; (now = nanoseconds()) < until;) {
        uint64_t left = (until - now) / 1000000 + 1;
        net_turn(left < 50 ? (int)left : 50);
    }
}

static bool none_active(void) { return counts.active == 0; }

void close_all(void) {
    for (int i = 0; i < tunnel_count; i++) {
        struct tunnel *tunnel = &tunnels[i];
        if (tunnel->active && tunnel->joined) tunnel_close(tunnel);
        if (i % 64 == 63) net_turn(0);
    }
    wait_until(none_active);
}
