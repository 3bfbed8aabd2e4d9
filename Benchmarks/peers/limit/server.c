// SPDX-License-Identifier: Apache-2.0
#include "limit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define ONE_READ 65536

static int poller;
static SSL_CTX *context;
static struct connection *finished;

static void watch(struct connection *connection, bool out) {
    if (connection->wants_out == out) return;
    struct epoll_event event = {.events = EPOLLIN | (out ? EPOLLOUT : 0), .data.ptr = connection};
    epoll_ctl(poller, EPOLL_CTL_MOD, connection->socket, &event);
    connection->wants_out = out;
}

// Closes at once, or when all data is sent. The memory is freed at the end of the turn.
void end_connection(struct connection *connection) {
    if (connection->over) return;
    connection->closing = true;
    forget(connection);
    struct connection *peer = connection->peer;
    if (peer) {
        connection->peer = peer->peer = NULL;
        // A peer that was sent a Close frame may respond to it.
        if (!peer->told) end_connection(peer);
    }
    if (connection->unsent.length) return;
    connection->over = true;
    if (connection->tls) {
        if (connection->secured) SSL_shutdown(connection->tls);
        SSL_free(connection->tls);
        ERR_clear_error();
    }
    close(connection->socket);
    connection->next = finished;
    finished = connection;
}

static ssize_t write_some(struct connection *connection, const uint8_t *bytes, size_t length) {
    if (!connection->tls) {
        ssize_t count = send(connection->socket, bytes, length, MSG_NOSIGNAL);
        return count >= 0 ? count : errno == EAGAIN ? 0 : -1;
    }
    int count = SSL_write(connection->tls, bytes, (int)length);
    if (count > 0) return count;
    int why = SSL_get_error(connection->tls, count);
    ERR_clear_error();
    return why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_WANT_READ ? 0 : -1;
}

static void keep(struct rest *rest, const uint8_t *bytes, size_t length) {
    uint8_t *room = malloc(rest->length + length);
    if (!room) abort();
    if (rest->length) memcpy(room, rest->bytes + rest->done, rest->length);
    memcpy(room + rest->length, bytes, length);
    free(rest->bytes);
    rest->bytes = room;
    rest->length += length;
    rest->done = 0;
}

static void drop(struct rest *rest) {
    free(rest->bytes);
    *rest = (struct rest){0};
}

void give(struct connection *to, const uint8_t *bytes, size_t length) {
    while (length && !to->unsent.length) {
        ssize_t count = write_some(to, bytes, length);
        if (count < 0) return;
        if (count == 0) break;
        bytes += count;
        length -= (size_t)count;
    }
    if (!length) return;
    keep(&to->unsent, bytes, length);
    watch(to, true);
}

static void send_unsent(struct connection *connection) {
    struct rest *rest = &connection->unsent;
    while (rest->length) {
        ssize_t count = write_some(connection, rest->bytes + rest->done, rest->length);
        if (count == 0) return;
        if (count < 0) {
            drop(rest);
            end_connection(connection);
            return;
        }
        rest->done += (size_t)count;
        rest->length -= (size_t)count;
    }
    drop(rest);
    watch(connection, false);
    if (connection->closing) end_connection(connection);
}

static bool secure(struct connection *connection) {
    int result = SSL_accept(connection->tls);
    if (result == 1) {
        connection->secured = true;
        watch(connection, false);
        return true;
    }
    int why = SSL_get_error(connection->tls, result);
    ERR_clear_error();
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE)
        watch(connection, why == SSL_ERROR_WANT_WRITE);
    else
        end_connection(connection);
    return false;
}

static void hang_up(struct connection *connection) {
    drop(&connection->unsent);
    end_connection(connection);
}

static void read_some(struct connection *connection) {
    static uint8_t buffer[ONE_READ + LARGEST_MESSAGE + 16];
    struct rest *rest = &connection->unread;
    do {
        size_t before = rest->length, used = 0;
        if (before) memcpy(buffer, rest->bytes, before);
        ssize_t count = connection->tls ? SSL_read(connection->tls, buffer + before, ONE_READ)
                                        : recv(connection->socket, buffer + before, ONE_READ, 0);
        if (count <= 0) {
            bool later = !connection->tls && count < 0 && errno == EAGAIN;
            if (connection->tls) {
                int why = SSL_get_error(connection->tls, (int)count);
                ERR_clear_error();
                later = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
            }
            if (!later) hang_up(connection);
            return;
        }
        size_t length = before + (size_t)count;
        if (!connection->upgraded) used = take_request(connection, buffer, length);
        if (connection->upgraded && used < length) used += take_frames(connection, buffer + used, length - used);
        if (connection->over || connection->closing) return;
        if (before) drop(rest);
        if (used < length) keep(rest, buffer + used, length - used);
    } while (connection->tls && SSL_pending(connection->tls));
}

static void accept_all(int listener) {
    int socket;
    while ((socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct connection *connection = calloc(1, sizeof *connection);
        if (!connection) abort();
        connection->socket = socket;
        if (context) {
            connection->tls = SSL_new(context);
            SSL_set_fd(connection->tls, socket);
            SSL_set_accept_state(connection->tls);
        }
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        epoll_ctl(poller, EPOLL_CTL_ADD, socket, &event);
    }
}

static void turn(int listener) {
    struct epoll_event events[256];
    int count = epoll_wait(poller, events, 256, -1);
    for (int i = 0; i < count; i++) {
        struct connection *connection = events[i].data.ptr;
        if (!connection) {
            accept_all(listener);
            continue;
        }
        if (connection->over) continue;
        if (connection->tls && !connection->secured && !secure(connection)) continue;
        if (events[i].events & EPOLLOUT) send_unsent(connection);
        if (!connection->closing && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_some(connection);
    }
    while (finished) {
        struct connection *connection = finished;
        finished = connection->next;
        drop(&connection->unread);
        drop(&connection->unsent);
        free(connection);
    }
}

static void load_certificate(const char *certificate, const char *key) {
    context = SSL_CTX_new(TLS_server_method());
    if (!context || SSL_CTX_use_certificate_chain_file(context, certificate) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) {
        fprintf(stderr, "limit: cannot use %s and %s\n", certificate, key);
        exit(66);
    }
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

int main(int count, char **words) {
    if (count != 2 && count != 4) {
        fprintf(stderr, "limit PORT [CERTIFICATE KEY]\n");
        return 64;
    }
    signal(SIGPIPE, SIG_IGN);
    if (count == 4) load_certificate(words[2], words[3]);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // Inherited by accepted sockets.
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 4096) != 0) {
        perror("limit: cannot listen");
        return 69;
    }
    poller = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    for (;;) turn(listener);
}
