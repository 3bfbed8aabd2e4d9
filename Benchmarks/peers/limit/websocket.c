// SPDX-License-Identifier: Apache-2.0
#include "limit.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SLOTS 65536

// Phones whose client has not connected yet, by the hash of their tunnel ID.
static struct connection *waiting[SLOTS];

static struct connection **slot_of(const char *id) {
    uint32_t hash = 2166136261u;
    for (int i = 0; i < ID_LENGTH; i++) hash = (hash ^ (uint8_t)id[i]) * 16777619u;
    struct connection **slot = &waiting[hash % SLOTS];
    while (*slot && memcmp((*slot)->id, id, ID_LENGTH) != 0) slot = &(*slot)->next;
    return slot;
}

void forget(struct connection *connection) {
    if (!connection->waiting) return;
    *slot_of(connection->id) = connection->next;
    connection->waiting = false;
}

static void base64(const uint8_t *bytes, size_t length, char *text) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        uint32_t three = (uint32_t)bytes[i] << 16;
        if (i + 1 < length) three |= (uint32_t)bytes[i + 1] << 8;
        if (i + 2 < length) three |= bytes[i + 2];
        *text++ = digits[three >> 18];
        *text++ = digits[three >> 12 & 63];
        *text++ = i + 1 < length ? digits[three >> 6 & 63] : '=';
        *text++ = i + 2 < length ? digits[three & 63] : '=';
    }
}

// The tunnel ID in "GET /cable/new/ID " or "GET /cable/connect/ROUTING/ID ".
static const char *tunnel_id(const char *head, bool *phone) {
    static const char new_path[] = "GET /cable/new/", connect_path[] = "GET /cable/connect/";
    const char *id = NULL;
    *phone = strncmp(head, new_path, sizeof new_path - 1) == 0;
    if (*phone) {
        id = head + sizeof new_path - 1;
    } else if (strncmp(head, connect_path, sizeof connect_path - 1) == 0) {
        id = strchr(head + sizeof connect_path - 1, '/');
        if (id) id++;
    }
    return id && strcspn(id, " \r") == ID_LENGTH ? id : NULL;
}

// The only necessary header field.
static const char *websocket_key(const char *head) {
    static const char name[] = "\nSec-WebSocket-Key: ";
    for (const char *line = strchr(head, '\n'); line; line = strchr(line + 1, '\n'))
        if (line[1] == name[1] && strncasecmp(line, name, sizeof name - 1) == 0) return line + sizeof name - 1;
    return NULL;
}

size_t take_request(struct connection *connection, const uint8_t *bytes, size_t length) {
    static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    char head[4096], answer[256] = "HTTP/1.1 101 Switching Protocols\r\n"
                                   "Upgrade: websocket\r\n"
                                   "Connection: Upgrade\r\n"
                                   "Sec-WebSocket-Protocol: fido.cable\r\n"
                                   "Sec-WebSocket-Accept: ";
    static const char phone_end[] = "\r\nX-caBLE-Routing-ID: 000000\r\n\r\n", client_end[] = "\r\n\r\n";
    const uint8_t *stop = memmem(bytes, length, "\r\n\r\n", 4);
    if (!stop && length < sizeof head) return 0;
    size_t used = stop ? (size_t)(stop + 4 - bytes) : sizeof head;
    if (used >= sizeof head) {
        end_connection(connection);
        return 0;
    }
    memcpy(head, bytes, used);
    head[used] = 0;
    bool phone;
    const char *id = tunnel_id(head, &phone), *key = websocket_key(head);
    struct connection **slot = id ? slot_of(id) : NULL;
    if (!slot || !key || strcspn(key, "\r") != 24 || phone == (*slot != NULL)) {
        end_connection(connection);
        return 0;
    }
    if (phone) {
        memcpy(connection->id, id, ID_LENGTH);
        connection->waiting = true;
        connection->next = NULL;
        *slot = connection;
    } else {
        connection->peer = *slot;
        connection->peer->peer = connection;
        forget(*slot);
    }
    uint8_t joined[24 + sizeof magic - 1], hash[20];
    memcpy(joined, key, 24);
    memcpy(joined + 24, magic, sizeof magic - 1);
    SHA1(joined, sizeof joined, hash);
    size_t so_far = strlen(answer);
    base64(hash, sizeof hash, answer + so_far);
    so_far += 28;
    const char *end = phone ? phone_end : client_end;
    memcpy(answer + so_far, end, strlen(end));
    connection->upgraded = true;
    give(connection, (uint8_t *)answer, so_far + strlen(end));
    return used;
}

// XORs a payload with its mask and moves it down, eight bytes at a time.
static void unmask(uint8_t *to, const uint8_t *from, size_t length, uint32_t mask) {
    uint64_t wide = (uint64_t)mask << 32 | mask, word;
    size_t i = 0;
    for (; i + sizeof word <= length; i += sizeof word) {
        memcpy(&word, from + i, sizeof word);
        word ^= wide;
        memcpy(to + i, &word, sizeof word);
    }
    for (; i < length; i++) to[i] = from[i] ^ (uint8_t)(wide >> 8 * (i % 4));
}

// Rewrites complete frames in place, without masks and gaps, and forwards all of them at once.
size_t take_frames(struct connection *connection, uint8_t *bytes, size_t length) {
    size_t used = 0, ready = 0;
    while (length - used >= 6 && !connection->closing) {
        uint8_t *frame = bytes + used;
        size_t payload = frame[1] & 127, head = 2;
        if (payload == 126) {
            if (length - used < 8) break;
            payload = (size_t)frame[2] << 8 | frame[3];
            head = 4;
        } else if (payload == 127) {
            if (length - used < 14) break;
            payload = 0;
            for (int i = 2; i < 10; i++) payload = payload << 8 | frame[i];
            head = 10;
        }
        if (!(frame[1] & 0x80) || frame[0] & 0x70 || payload > LARGEST_MESSAGE) {
            end_connection(connection);
            return 0;
        }
        size_t whole = head + 4 + payload;
        if (length - used < whole) break;
        uint32_t mask;
        memcpy(&mask, frame + head, sizeof mask);
        frame[1] &= 127;
        uint8_t *out = bytes + ready;
        memmove(out, frame, head);
        unmask(out + head, frame + head + 4, payload, mask);
        used += whole;
        if ((out[0] & 15) == 8) {
            // A Close frame is echoed and forwarded to the other end, which responds and closes.
            connection->closing = true;
            if (!connection->told) give(connection, out, head + payload);
            if (connection->peer) connection->peer->told = true;
        }
        ready += head + payload;
    }
    struct connection *peer = connection->peer;
    if (ready && peer) give(peer, bytes, ready);
    if (connection->closing) end_connection(connection);
    return used;
}
