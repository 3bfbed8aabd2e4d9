// SPDX-License-Identifier: Apache-2.0
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOURCES 64
#define ONE_READ (1 << 17)

static int poller;
static SSL_CTX *context;
static SSL_SESSION *ticket;
static char suite[64] = "not negotiated";

const char *net_suite(void) { return suite; }

// OpenSSL invalidates a session whose connection ends badly, such as without close_notify: the copies stay as they are.
static int keep_ticket(SSL *tls, SSL_SESSION *session) {
    (void)tls;
    SSL_SESSION_free(ticket);
    ticket = SSL_SESSION_dup(session);
    return 0;
}

static void use_ticket(SSL *tls) {
    SSL_SESSION *copy = SSL_SESSION_dup(ticket);
    SSL_set_session(tls, copy);
    SSL_SESSION_free(copy);
}

void net_begin(void) {
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (poller < 0) leave(70, "epoll_create1: %s", strerror(errno));
    if (!options.tls) return;
    context = SSL_CTX_new(TLS_client_method());
    if (!context || SSL_CTX_set_ciphersuites(context, options.suites) != 1)
        leave(64, "not a list of TLS 1.3 suites: %s", options.suites);
    // TLS 1.3 only, and extensions in a browser's order.
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set1_groups_list(context, "X25519:P-256");
    // The certificate is new and self-signed.
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    if (options.resume) {
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(context, keep_ticket);
    }
}

// An event identifies its end by number and generation: an end may have been dropped and reused in the same turn.
static uint64_t event_name(const struct end *end) {
    return (uint64_t)end->generation << 32 | (end->tunnel->number << 1 | end->phone);
}

static void watch(struct end *end, bool out) {
    if (end->wants_out == out) return;
    struct epoll_event event = {.events = EPOLLIN | (out ? EPOLLOUT : 0), .data.u64 = event_name(end)};
    if (epoll_ctl(poller, EPOLL_CTL_MOD, end->fd, &event) == 0) end->wants_out = out;
}

void end_connect(struct end *end) {
    static uint32_t next_source;
    const int on = 1;
    end->generation++;
    end->sent = end->received = 0;
    end->told_close = false;
    end->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (end->fd < 0) {
        tunnel_fail(end->tunnel, "socket: %s", strerror(errno));
        return;
    }
    end->state = CONNECTING;
    setsockopt(end->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // Many loopback addresses, because closed connections occupy their ports for a minute.
    setsockopt(end->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 0x10000 + next_source++ % SOURCES);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons((uint16_t)options.port);
    if (bind(end->fd, (struct sockaddr *)&from, sizeof from) != 0 ||
        (connect(end->fd, (struct sockaddr *)&to, sizeof to) != 0 && errno != EINPROGRESS)) {
        tunnel_fail(end->tunnel, "connect: %s", strerror(errno));
        return;
    }
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.u64 = event_name(end)};
    end->wants_out = true;
    if (epoll_ctl(poller, EPOLL_CTL_ADD, end->fd, &event) != 0) leave(70, "epoll_ctl: %s", strerror(errno));
}

void end_drop(struct end *end) {
    if (end->state == CLOSED) return;
    end->state = CLOSED;
    end->generation++;
    if (end->tls) {
        // As in browsers, the socket is closed without close_notify. The ticket remains valid.
        SSL_set_shutdown(end->tls, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        SSL_free(end->tls);
        end->tls = NULL;
    }
    close(end->fd);
    end->fd = -1;
    end->in.length = end->out.length = 0;
}

void end_half_close(struct end *end) { shutdown(end->fd, SHUT_WR); }

static void append(struct bytes *bytes, const void *data, size_t length) {
    if (bytes->length == 0) bytes->start = 0;
    if (bytes->start + bytes->length + length > bytes->room) {
        if (bytes->start) memmove(bytes->data, bytes->data + bytes->start, bytes->length);
        bytes->start = 0;
        if (bytes->length + length > bytes->room) {
            bytes->room = 2 * (bytes->length + length);
            bytes->data = room_for(bytes->data, bytes->room);
        }
    }
    memcpy(bytes->data + bytes->start + bytes->length, data, length);
    bytes->length += length;
}

// Returns the number of bytes sent; 0 if the socket is full; -1 after an error.
static ssize_t write_some(struct end *end, const void *data, size_t length) {
    if (!end->tls) {
        ssize_t count = send(end->fd, data, length, MSG_NOSIGNAL);
        return count >= 0 ? count : errno == EAGAIN ? 0 : -1;
    }
    ERR_clear_error();
    int count = SSL_write(end->tls, data, (int)length);
    if (count > 0) return count;
    int why = SSL_get_error(end->tls, count);
    return why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_WANT_READ ? 0 : -1;
}

// A failed write is not reported, because the next read returns the cause.
void end_send(struct end *end, const void *data, size_t length) {
    const uint8_t *next = data;
    while (length && end->out.length == 0) {
        ssize_t count = write_some(end, next, length);
        if (count < 0) return;
        if (count == 0) break;
        next += count;
        length -= (size_t)count;
    }
    if (length == 0) return;
    append(&end->out, next, length);
    watch(end, true);
}

static void send_rest(struct end *end) {
    while (end->out.length) {
        ssize_t count = write_some(end, end->out.data + end->out.start, end->out.length);
        if (count < 0) end->out.length = 0;
        if (count <= 0) break;
        end->out.start += (size_t)count;
        end->out.length -= (size_t)count;
    }
    if (end->out.length == 0) watch(end, false);
}

static void secure(struct end *end) {
    ERR_clear_error();
    int result = SSL_do_handshake(end->tls);
    if (result == 1) {
        if (SSL_session_reused(end->tls)) end->tunnel->resumed++;
        snprintf(suite, sizeof suite, "%s", SSL_get_cipher_name(end->tls));
        watch(end, false);
        end_connected(end);
        return;
    }
    int why = SSL_get_error(end->tls, result);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
        watch(end, why == SSL_ERROR_WANT_WRITE);
        return;
    }
    const char *text = ERR_reason_error_string(ERR_peek_error());
    tunnel_fail(end->tunnel, "TLS: %s", text ? text : "the server closed the connection");
}

static void connected(struct end *end) {
    int problem = 0;
    socklen_t length = sizeof problem;
    getsockopt(end->fd, SOL_SOCKET, SO_ERROR, &problem, &length);
    if (problem) {
        tunnel_fail(end->tunnel, "connect: %s", strerror(problem));
        return;
    }
    if (!options.tls) {
        watch(end, false);
        end_connected(end);
        return;
    }
    end->tls = SSL_new(context);
    if (!end->tls || SSL_set_fd(end->tls, end->fd) != 1) leave(70, "TLS cannot be set up");
    SSL_set_tlsext_host_name(end->tls, "localhost");
    if (options.resume && ticket) use_ticket(end->tls);
    SSL_set_connect_state(end->tls);
    end->state = SECURING;
    secure(end);
}

// Reads once. Returns false if there is no more data or the end is closed.
static bool read_some(struct end *end) {
    static uint8_t buffer[ONE_READ];
    const uint8_t *data = buffer;
    ssize_t count;
    if (end->tls) {
        ERR_clear_error();
        count = SSL_read(end->tls, buffer, sizeof buffer);
        if (count <= 0) {
            int why = SSL_get_error(end->tls, (int)count);
            if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
                end_finished(end, "the server closed the connection");
            return false;
        }
    } else {
        count = recv(end->fd, buffer, sizeof buffer, 0);
        if (count <= 0) {
            if (count == 0 || errno != EAGAIN)
                end_finished(end, count == 0 ? "the server closed the connection" : "the connection was reset");
            return false;
        }
    }
    size_t length = (size_t)count;
    bool kept = end->in.length > 0;
    if (kept) {
        append(&end->in, buffer, length);
        data = end->in.data + end->in.start;
        length = end->in.length;
    }
    uint32_t generation = end->generation;
    size_t used = 0;
    while (used < length && end->generation == generation) {
        size_t more = end_arrived(end, data + used, length - used);
        if (more == 0) break;
        used += more;
    }
    if (end->generation != generation) return false;
    if (kept) {
        end->in.start += used;
        end->in.length -= used;
    } else if (used < length) {
        append(&end->in, data + used, length - used);
    }
    return end->tls != NULL;
}

bool net_turn(int milliseconds) {
    struct epoll_event events[256];
    int count = epoll_wait(poller, events, 256, milliseconds);
    for (int i = 0; i < count; i++) {
        struct end *end = end_numbered((uint32_t)events[i].data.u64);
        uint32_t generation = (uint32_t)(events[i].data.u64 >> 32), what = events[i].events;
        if (end->generation != generation) continue;
        if (end->state == CONNECTING) {
            connected(end);
        } else if (end->state == SECURING) {
            secure(end);
        } else {
            if (what & EPOLLOUT) send_rest(end);
            if (what & (EPOLLIN | EPOLLHUP | EPOLLERR))
                while (end->generation == generation && read_some(end)) continue;
        }
    }
    return count > 0;
}
