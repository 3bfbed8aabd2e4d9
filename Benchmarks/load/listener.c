// SPDX-License-Identifier: Apache-2.0
// Linked phones that wait for wake-ups: the proof of their contact IDs, and a work that measures many of them.
#include "load.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#define KEY 32
#define CHALLENGE 32
#define SIGNATURE 64
#define CONTACT 25
#define HOST "localhost"
#define OPENING 32
// The relay admits 1,000 new phones at once, and 500 a second on average.
#define FIRST 500
#define PER_SECOND 450

static EVP_PKEY *private_key(const struct tunnel *tunnel) {
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, tunnel->seed, sizeof tunnel->seed);
    if (!key) leave(70, "no Ed25519 key");
    return key;
}

// 01 and the first 24 bytes of SHA-256 over a prefix and the public key.
static void contact_id(const uint8_t public_key[KEY], uint8_t contact[CONTACT]) {
    static const char prefix[] = "hybrid-relay contact v1";
    uint8_t text[sizeof prefix - 1 + KEY], hash[SHA256_DIGEST_LENGTH];
    memcpy(text, prefix, sizeof prefix - 1);
    memcpy(text + sizeof prefix - 1, public_key, KEY);
    SHA256(text, sizeof text, hash);
    contact[0] = 1;
    memcpy(contact + 1, hash, CONTACT - 1);
}

static void public_part(EVP_PKEY *key, uint8_t public_key[KEY]) {
    size_t length = KEY;
    if (EVP_PKEY_get_raw_public_key(key, public_key, &length) != 1 || length != KEY) leave(70, "no Ed25519 key");
}

void listener_contact(struct tunnel *tunnel, char text[CONTACT_TEXT]) {
    uint8_t public_key[KEY], contact[CONTACT];
    char padded[CONTACT_TEXT + 2];
    for (size_t i = 0; i < sizeof tunnel->seed; i += sizeof(uint64_t)) {
        uint64_t part = chance();
        memcpy(tunnel->seed + i, &part, sizeof part);
    }
    EVP_PKEY *key = private_key(tunnel);
    public_part(key, public_key);
    EVP_PKEY_free(key);
    contact_id(public_key, contact);
    EVP_EncodeBlock((uint8_t *)padded, contact, sizeof contact);
    // base64url without padding.
    for (int i = 0; i < CONTACT_TEXT - 1; i++) text[i] = padded[i] == '+' ? '-' : padded[i] == '/' ? '_' : padded[i];
    text[CONTACT_TEXT - 1] = 0;
}

// Answers the relay's challenge.
static void prove(struct end *end, const uint8_t *challenge) {
    static const char prefix[] = "hybrid-relay listen v1" HOST;
    uint8_t statement[sizeof prefix - 1 + CHALLENGE + CONTACT];
    // {0: "own", 1: public key, 2: signature}
    uint8_t own[] = "\xa3\x00\x63own\x01\x58\x20........" "........" "........" "........"
                    "\x02\x58\x40........" "........" "........" "........" "........" "........" "........" "........";
    uint8_t *public_key = own + 9, *signature = public_key + KEY + 3;
    size_t length = SIGNATURE;
    EVP_PKEY *key = private_key(end->tunnel);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    public_part(key, public_key);
    memcpy(statement, prefix, sizeof prefix - 1);
    memcpy(statement + sizeof prefix - 1, challenge, CHALLENGE);
    contact_id(public_key, statement + sizeof prefix - 1 + CHALLENGE);
    if (!context || EVP_DigestSignInit(context, NULL, NULL, NULL, key) != 1 ||
        EVP_DigestSign(context, signature, &length, statement, sizeof statement) != 1)
        leave(70, "no Ed25519 signature");
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    websocket_send(end, BINARY, own, sizeof own - 1);
}

void listener_message(struct end *end, const uint8_t *data, size_t length) {
    // {0: "hello", 1: challenge, 2: seconds} and {0: "ok"}
    static const uint8_t hello[] = "\xa3\x00\x65hello\x01\x58\x20", ok[] = "\xa1\x00\x62ok";
    struct tunnel *tunnel = end->tunnel;
    size_t head = sizeof hello - 1;
    if (end->received == 0 && length > head + CHALLENGE && memcmp(data, hello, head) == 0)
        prove(end, data + head);
    else if (end->received == 1 && length == sizeof ok - 1 && memcmp(data, ok, length) == 0)
        tunnel_joined(tunnel);
    else
        tunnel_fail(tunnel, "listener: unexpected message %u of %zu bytes", end->received, length);
    end->received++;
}

static uint64_t wanted, since;

static bool all_listening(void) {
    double allowed = FIRST + PER_SECOND * (double)(nanoseconds() - since) / 1e9;
    while (counts.opening < OPENING && counts.started < wanted && (double)counts.started < allowed)
        if (!tunnel_start()) break;
    return counts.started == wanted && counts.opening == 0;
}

void work_listeners(void) {
    static const struct work listening = {.listens = true};
    int half = options.tunnels / 2;
    struct memory before = server_memory();
    uint64_t cpu = server_cpu();
    tunnels_begin(options.tunnels, &listening);
    since = nanoseconds();
    wanted = (uint64_t)half;
    wait_until(all_listening);
    turn_for(1);
    struct memory middle = server_memory();
    wanted = (uint64_t)options.tunnels;
    wait_until(all_listening);
    double seconds = (double)(nanoseconds() - since) / 1e9, opening = (double)(server_cpu() - cpu);
    turn_for(1);
    struct memory open = server_memory();
    uint64_t pings = counts.pings;
    int active = counts.active;
    cpu = server_cpu();
    since = nanoseconds();
    turn_for(options.hold);
    double held_seconds = (double)(nanoseconds() - since) / 1e9;
    double share = (double)(server_cpu() - cpu) / 1e9 / held_seconds;
    struct memory held = server_memory();
    pings = counts.pings - pings;
    int lost = active - counts.active;
    close_all();
    report_begin("listeners");
    report_number("listeners", options.tunnels, 0);
    report_number("kib_per_listener", (double)(held.resident - before.resident) / options.tunnels, 2);
    // Without the one-time costs of the process.
    report_number("kib_slope", (double)(open.resident - middle.resident) / (options.tunnels - half), 2);
    report_number("anonymous_kib_per_listener", (double)(held.anonymous - before.anonymous) / options.tunnels, 2);
    report_number("listen_us", opening / 1e3 / options.tunnels, 1);
    report_number("listen_s", seconds, 1);
    report_number("held_s", held_seconds, 1);
    report_number("pings", (double)pings, 0);
    report_number("pinged_cpu_percent", 100 * share, 3);
    report_number("ping_us", pings ? 1e6 * share * held_seconds / (double)pings : 0, 1);
    report_number("lost", lost, 0);
    report_number("rss_start_kib", (double)before.resident, 0);
    report_number("rss_held_kib", (double)held.resident, 0);
}
