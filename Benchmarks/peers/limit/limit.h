// SPDX-License-Identifier: Apache-2.0
// The limit: the lowest cost of a tunnel relay. One thread, epoll, one read and one write for each message. It has no
// limits, timers, pings, metrics or logs, accepts only well-formed requests, and is for measurements only.
#ifndef LIMIT_H
#define LIMIT_H

#ifdef NIO_BORINGSSL
#include <CNIOBoringSSL.h>
#else
#include <openssl/err.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LARGEST_MESSAGE 65536
#define ID_LENGTH 32

// Unprocessed bytes: the start of a request or frame, or data that a socket did not accept.
struct rest {
    uint8_t *bytes;
    size_t length, done;
};

struct connection {
    int socket;
    bool secured, upgraded, waiting, told, closing, over, wants_out;
    SSL *tls;
    struct connection *peer, *next;
    struct rest unread, unsent;
    char id[ID_LENGTH];
};

// server.c
void give(struct connection *to, const uint8_t *bytes, size_t length);
void end_connection(struct connection *connection);

// websocket.c: both return the number of bytes used
size_t take_request(struct connection *connection, const uint8_t *bytes, size_t length);
size_t take_frames(struct connection *connection, uint8_t *bytes, size_t length);
void forget(struct connection *connection);

#endif
