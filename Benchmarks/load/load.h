// SPDX-License-Identifier: Apache-2.0
// A load generator for tunnel relays. One thread, epoll, on loopback addresses only.
//
// A tunnel has two ends, both in this process: the phone, which opens it, and the client, which joins. What an end
// receives is compared with what the other one sent, byte by byte. A tunnel that does anything else than expected has
// failed; it is counted under its reason, and the run goes on.
#ifndef LOAD_H
#define LOAD_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LARGEST_MESSAGE 65536

// Options of the command line.
struct options {
    int port;
    pid_t server;
    int cpu;
    bool tls;
    bool resume;
    int tunnels;
    int at_once;
    int warm_up;
    int size;
    int window;
    int burst;
    double seconds;
    double warm_up_seconds;
    double hold;
    double patience;
    const char *suites;
};
extern struct options options;

// ---- clock.c: time, random numbers, and exit with a message

uint64_t nanoseconds(void);
uint64_t own_cpu(void);
uint64_t chance(void);
_Noreturn void leave(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
void *room_for(void *old, size_t bytes);

// ---- server.c: resources used by the server

struct memory {
    long resident;
    long anonymous;
};
void server_find(pid_t pid);
uint64_t server_cpu(void);
struct memory server_memory(void);

// ---- net.c: one end's socket, with TLS or without

enum state { CLOSED, CONNECTING, SECURING, UPGRADING, OPEN, CLOSING };

struct bytes {
    uint8_t *data;
    size_t start, length, room;
};

struct tunnel;

struct end {
    int fd;
    enum state state;
    bool phone;
    bool wants_out;
    bool told_close;
    uint32_t generation;
    SSL *tls;
    struct tunnel *tunnel;
    struct bytes in, out;
    uint32_t sent, received;
    char accept[29];
};

void net_begin(void);
bool net_turn(int milliseconds);
void end_connect(struct end *end);
void end_send(struct end *end, const void *data, size_t length);
void end_half_close(struct end *end);
void end_drop(struct end *end);
const char *net_suite(void);

// Callbacks of net.c. end_arrived returns the number of bytes used.
void end_connected(struct end *end);
size_t end_arrived(struct end *end, const uint8_t *data, size_t length);
void end_finished(struct end *end, const char *how);

// ---- websocket.c: the upgrade and frames

enum { BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };

void websocket_ask(struct end *end);
size_t websocket_answer(struct end *end, const uint8_t *data, size_t length);
size_t websocket_frame(struct end *end, const uint8_t *data, size_t length);
void websocket_send(struct end *end, int opcode, const uint8_t *data, size_t length);

// Callbacks of websocket.c.
void end_open(struct end *end);
void end_message(struct end *end, int opcode, const uint8_t *data, size_t length);

// ---- tunnel.c: tunnels, and callbacks of a work

struct tunnel {
    struct end phone, client;
    uint32_t number;
    bool active, joined, closing;
    uint64_t started, asked;
    int step, resumed;
    char id[33];
    char routing[17];
    // A linked phone that waits for wake-ups: it has no client, and its key follows from the seed.
    bool listens;
    uint8_t seed[32];
};

struct work {
    bool handshake_only, listens;
    void (*joined)(struct tunnel *tunnel);
    void (*arrived)(struct end *end, size_t length);
    void (*ended)(struct tunnel *tunnel);
    int (*size)(const struct end *sender, uint32_t number);
};

struct counts {
    uint64_t started, joined, completed, failed, messages, bytes, pings;
    int active, opening;
};
extern struct counts counts;

void tunnels_begin(int most, const struct work *work);
struct tunnel *tunnel_start(void);
struct tunnel *tunnel_at(uint32_t number);
void tunnel_joined(struct tunnel *tunnel);
void tunnel_say(struct end *end);
void tunnel_close(struct tunnel *tunnel);
void tunnel_fail(struct tunnel *tunnel, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct end *other_end(struct end *end);
struct end *end_numbered(uint32_t index);
bool wait_until(bool (*done)(void));
void turn_for(double seconds);
void close_all(void);

// ---- listener.c: linked phones that wait for wake-ups

#define LISTEN_PROTOCOL "hybrid-relay.listen.v1"
// Length of a contact ID in base64url, with the final zero byte.
#define CONTACT_TEXT 35

void listener_contact(struct tunnel *tunnel, char text[CONTACT_TEXT]);
void listener_message(struct end *end, const uint8_t *data, size_t length);

// ---- report.c: one JSON object on standard output

void report_begin(const char *work);
void report_number(const char *name, double value, int digits);
void report_end(void);
void reason_count(const char *reason);
void sample_add(uint64_t value);
void samples_clear(void);
double sample_quantile(double fraction);

// ---- works

void work_signins(void);
void burst_of_signins(int count);
void work_handshakes(void);
void work_pingpong(void);
void work_stream(void);
void work_idle(void);
void work_churn(void);
void work_listeners(void);

#endif
