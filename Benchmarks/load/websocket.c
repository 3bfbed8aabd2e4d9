// SPDX-License-Identifier: Apache-2.0
#include "load.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *protocol(const struct end *end) { return end->tunnel->listens ? LISTEN_PROTOCOL : "fido.cable"; }

static const char *name(const struct end *end) { return end->phone ? "phone" : "client"; }

// Chromium's request for a tunnel.
static const char request[] = "GET /cable/%s/%s HTTP/1.1\r\n"
                              "Host: localhost:%d\r\n"
                              "Connection: Upgrade\r\n"
                              "Pragma: no-cache\r\n"
                              "Cache-Control: no-cache\r\n"
                              "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
                              "Chrome/140.0.0.0 Safari/537.36\r\n"
                              "Upgrade: websocket\r\n"
                              "Origin: wss://localhost:%d\r\n"
                              "Sec-WebSocket-Version: 13\r\n"
                              "Accept-Encoding: gzip, deflate, br, zstd\r\n"
                              "Accept-Language: en-US,en;q=0.9\r\n"
                              "Sec-WebSocket-Key: %s\r\n"
                              "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"
                              "Sec-WebSocket-Protocol: %s\r\n"
                              "\r\n";

void websocket_ask(struct end *end) {
    uint64_t key[2] = {chance(), chance()};
    char encoded[25], joined[64], head[1024];
    uint8_t hash[SHA_DIGEST_LENGTH];
    EVP_EncodeBlock((uint8_t *)encoded, (uint8_t *)key, sizeof key);
    int length = snprintf(joined, sizeof joined, "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", encoded);
    SHA1((uint8_t *)joined, (size_t)length, hash);
    EVP_EncodeBlock((uint8_t *)end->accept, hash, sizeof hash);
    struct tunnel *tunnel = end->tunnel;
    char last[64];
    if (tunnel->listens)
        listener_contact(tunnel, last);
    else
        snprintf(last, sizeof last, "%s%s%s", end->phone ? "" : tunnel->routing, end->phone ? "" : "/", tunnel->id);
    const char *path = tunnel->listens ? "listen" : end->phone ? "new" : "connect";
    length = snprintf(head, sizeof head, request, path, last, options.port, options.port, encoded, protocol(end));
    end->state = UPGRADING;
    end_send(end, head, (size_t)length);
}

// Returns the value of a header field in a head that ends with an empty line, or NULL.
static const char *header(const char *head, const char *name, size_t *length) {
    size_t name_length = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line && line[2] != '\r'; line = strstr(line + 2, "\r\n")) {
        const char *value = line + 2 + name_length;
        if (strncasecmp(line + 2, name, name_length) != 0 || *value != ':') continue;
        value += 1 + strspn(value + 1, " \t");
        *length = strcspn(value, "\r");
        return value;
    }
    return NULL;
}

static bool header_is(const char *head, const char *name, const char *wanted) {
    size_t length = 0;
    const char *value = header(head, name, &length);
    return value && length == strlen(wanted) && memcmp(value, wanted, length) == 0;
}

size_t websocket_answer(struct end *end, const uint8_t *data, size_t length) {
    struct tunnel *tunnel = end->tunnel;
    char head[4096];
    const uint8_t *stop = memmem(data, length, "\r\n\r\n", 4);
    size_t used = stop ? (size_t)(stop + 4 - data) : 0;
    if ((stop ? used : length) >= sizeof head) {
        tunnel_fail(tunnel, "%s: the response's head is too long", name(end));
        return 0;
    }
    if (!stop) return 0;
    memcpy(head, data, used);
    head[used] = 0;
    if (strncmp(head, "HTTP/1.1 101 ", 13) != 0) {
        tunnel_fail(tunnel, "%s: answered %.*s", name(end), (int)strcspn(head, "\r"), head);
        return 0;
    }
    if (!header_is(head, "Sec-WebSocket-Accept", end->accept) ||
        !header_is(head, "Sec-WebSocket-Protocol", protocol(end)) || strcasestr(head, "\r\nSec-WebSocket-Extensions:")) {
        tunnel_fail(tunnel, "%s: unexpected response to the upgrade", name(end));
        return 0;
    }
    if (end->phone && !tunnel->listens) {
        size_t routing_length = 0;
        const char *routing = header(head, "X-caBLE-Routing-ID", &routing_length);
        if (!routing || routing_length == 0 || routing_length >= sizeof tunnel->routing) {
            tunnel_fail(tunnel, "phone: no routing ID");
            return 0;
        }
        memcpy(tunnel->routing, routing, routing_length);
        tunnel->routing[routing_length] = 0;
    }
    end->state = OPEN;
    end_open(end);
    return used;
}

size_t websocket_frame(struct end *end, const uint8_t *data, size_t length) {
    if (length < 2) return 0;
    size_t payload = data[1] & 0x7f, head = 2;
    if (payload == 126) {
        if (length < 4) return 0;
        payload = (size_t)data[2] << 8 | data[3];
        head = 4;
    } else if (payload == 127) {
        if (length < 10) return 0;
        payload = 0;
        for (int i = 2; i < 10; i++) payload = payload << 8 | data[i];
        head = 10;
    }
    if (!(data[0] & 0x80) || data[0] & 0x70 || data[1] & 0x80 || payload > LARGEST_MESSAGE) {
        tunnel_fail(end->tunnel, "%s: a frame that is fragmented, masked, has reserved bits or is too long", name(end));
        return 0;
    }
    if (length < head + payload) return 0;
    end_message(end, data[0] & 15, data + head, payload);
    return head + payload;
}

void websocket_send(struct end *end, int opcode, const uint8_t *data, size_t length) {
    static uint8_t frame[LARGEST_MESSAGE + 14];
    size_t head = 2;
    frame[0] = (uint8_t)(0x80 | opcode);
    if (length < 126) {
        frame[1] = (uint8_t)(0x80 | length);
    } else if (length < 65536) {
        frame[1] = 0x80 | 126;
        head = 4;
    } else {
        frame[1] = 0x80 | 127;
        head = 10;
    }
    for (size_t i = 2; i < head; i++) frame[i] = (uint8_t)((uint64_t)length >> 8 * (head - 1 - i));
    uint32_t mask = (uint32_t)chance();
    memcpy(frame + head, &mask, sizeof mask);
    uint8_t *to = frame + head + sizeof mask;
    uint64_t wide = (uint64_t)mask << 32 | mask, word;
    size_t done = 0;
    for (; done + sizeof word <= length; done += sizeof word) {
        memcpy(&word, data + done, sizeof word);
        word ^= wide;
        memcpy(to + done, &word, sizeof word);
    }
    for (; done < length; done++) to[done] = data[done] ^ (uint8_t)(wide >> 8 * (done % 4));
    end_send(end, frame, head + sizeof mask + length);
}
