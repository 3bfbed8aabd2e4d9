// SPDX-License-Identifier: Apache-2.0
// A discrete-event simulation of relay nodes in regions, with every linked phone: its own clock, no sockets. All numbers
// are integers and all choices follow from the seed, so a run can be repeated bit for bit. See docs/capacity.md.
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TICK_MS = 10, SECOND = 1000 / TICK_MS, SECONDS = 600, TICKS = SECONDS * SECOND, EVENT = 60 };
enum { REGIONS = 3, NODES = 10, ALL = REGIONS * NODES, CPUS = 32 };
enum { AWAY = 255, CONNECTING = 128, NEVER = 65535 };
enum { HEAD_S = 5, HOLD_S = 8, TUNNEL_S = 30, LIFE_S = 600, FOUND_S = 10, PING_S = 25, LAST_S = 10 };
// Costs in nanoseconds and bytes; docs/capacity.md has their sources.
enum { SIGN_IN_NS = 580000, HANDSHAKE_NS = 270000, LISTEN_NS = 450000, PING_NS = 36000 };
enum { LISTENER_BYTES = 7168, TUNNEL_BYTES = 15565 };
enum { PUSH_PERCENT = 10, PUSH_S = 5, SOURCE_TUNNELS = 12, MOST_TUNNELS = 100000 };

typedef enum { CALM, NODE_KILLED, NODE_DRAINED, REGION_LOST, REGION_BACK, ALL_RESTARTED, ROLLING, FLASH, PUSH_DOWN,
               HOSTILE, SCENARIOS } scenario;
static const char *const names[SCENARIOS] = {
    "calm", "node-killed", "node-drained", "region-lost", "region-back", "all-restarted", "rolling-upgrade",
    "flash-crowd", "push-server-down", "hostile-sources"};

// MARK: Random numbers

static uint64_t state;

static uint64_t mixed(uint64_t value) {
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

static uint64_t draw(void) { return mixed(state += 0x9E3779B97F4A7C15u); }

// Returns a number below `bound`, which is less than 2^32.
static uint32_t below(uint32_t bound) { return (uint32_t)((draw() >> 32) * bound >> 32); }

// MARK: Events: for each tick, the phones that do something

enum { CHUNK = 254, AHEAD = 16 };
typedef struct { uint32_t next, count, phones[CHUNK]; } chunk;

static chunk *chunks;
static uint32_t most_chunks, used_chunks, free_chunk;
static uint32_t heads[TICKS + 1];
// In one place, because each access to a phone's state waits for memory.
typedef struct { uint16_t due; uint8_t place, failures; } phone_state;
static phone_state *all;
static uint32_t phones;

static void *room(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (!memory) { fprintf(stderr, "fleet: not enough memory\n"); exit(69); }
    return memory;
}

static uint32_t new_chunk(void) {
    uint32_t index = free_chunk;
    if (index) {
        free_chunk = chunks[index].next;
    } else {
        if (++used_chunks == most_chunks) { fprintf(stderr, "fleet: too many events\n"); exit(70); }
        index = used_chunks;
    }
    chunks[index].count = 0;
    return index;
}

static void schedule(uint32_t phone, uint32_t tick) {
    if (tick >= TICKS) { all[phone].due = NEVER; return; }
    all[phone].due = (uint16_t)tick;
    uint32_t head = heads[tick];
    if (!head || chunks[head].count == CHUNK) {
        uint32_t fresh = new_chunk();
        chunks[fresh].next = head;
        head = heads[tick] = fresh;
    }
    chunks[head].phones[chunks[head].count++] = phone;
}

// MARK: Nodes

typedef struct {
    bool is_up;
    int64_t backlog, tokens;            // nanoseconds of work; admissions of phones in thousandths
    uint32_t listeners, tunnels, hostile, done, pushes;
    uint32_t started[2][TUNNEL_S], pushed[PUSH_S];   // by code, and by a contact
} node;

static node nodes[ALL];
static uint32_t now;
static uint32_t most_listeners;         // --max-listeners of a node
static bool has_second_choice = true;
static uint32_t region_gone = REGIONS, region_gone_until;

static uint32_t taking;                 // a bit for each node that is up and does not drain

static bool takes(uint32_t index) { return taking >> index & 1; }

static bool region_takes(uint32_t region) { return taking >> region * NODES & ((1u << NODES) - 1); }

static void set(uint32_t index, bool is_up, bool drains) {
    nodes[index].is_up = is_up;
    taking = (taking & ~(1u << index)) | (uint32_t)(is_up && !drains) << index;
}

// Returns the node that is a phone's choice with this number among those that take phones; ALL if there is none.
static uint32_t chosen(uint32_t phone, uint32_t region_choice, uint32_t node_choice) {
    uint64_t hash = mixed(phone + 1);
    uint32_t first = hash % REGIONS, step = 1 + (hash >> 8) % (REGIONS - 1);
    static const uint32_t steps[] = {1, 3, 7, 9};
    for (uint32_t i = 0; i < REGIONS; i++) {
        uint32_t region = (first + i * step) % REGIONS;
        if (!region_takes(region) || region_choice-- > 0) continue;
        for (uint32_t j = 0; j < NODES; j++) {
            uint32_t index = region * NODES + ((hash >> 16) + j * steps[hash >> 60 & 3]) % NODES;
            if (takes(index) && node_choice-- == 0) return index;
        }
        return ALL;
    }
    return ALL;
}

// The balancers that a device reaches are those of its own region, until their loss is known everywhere.
static bool enters(uint32_t device) {
    return mixed(device ^ 0xABCDEF) % REGIONS != region_gone || now >= region_gone_until;
}

static uint32_t away_s(uint32_t phone, bool is_asked) {
    uint32_t limit = (is_asked ? 5u : 40u) << (all[phone].failures < 4 ? all[phone].failures : 4);
    if (all[phone].failures < 255) all[phone].failures++;
    return limit < 320 ? limit : 320;
}

// The phone connects after a random time, as ReconnectDelay says.
static void leave(uint32_t phone, bool is_asked, uint32_t later) {
    all[phone].place = AWAY;
    schedule(phone, now + later + SECOND + below((away_s(phone, is_asked) - 1) * SECOND + 1));
}

static void listens(uint32_t phone, uint32_t index) {
    all[phone].place = (uint8_t)index;
    all[phone].failures = 0;
    nodes[index].done++;
    schedule(phone, now + (LIFE_S - LIFE_S / 5) * SECOND + below(LIFE_S / 5 * SECOND));
}

static uint32_t delay(const node *at) { return (uint32_t)(at->backlog / CPUS / (TICK_MS * 1000000)); }

static void happens(uint32_t phone) {
    uint8_t at = all[phone].place;
    if (at < CONNECTING) {              // the relay ends its connection
        nodes[at].listeners--;
        leave(phone, true, 0);
        return;
    }
    if (at != AWAY) { listens(phone, at - CONNECTING); return; }
    uint32_t index = enters(phone) ? chosen(phone, 0, 0) : ALL;
    if (index == ALL) { leave(phone, false, 0); return; }
    node *target = &nodes[index];
    if (target->tokens < 1000 || target->listeners >= most_listeners) {
        target->backlog += HANDSHAKE_NS;
        leave(phone, false, 0);
        return;
    }
    target->tokens -= 1000;
    uint32_t ticks = delay(target);
    if (ticks > HEAD_S * SECOND) {
        target->backlog += HANDSHAKE_NS;
        leave(phone, false, HEAD_S * SECOND);
        return;
    }
    target->backlog += LISTEN_NS;
    target->listeners++;
    all[phone].place = (uint8_t)(CONNECTING + index);
    if (ticks == 0) listens(phone, index); else schedule(phone, now + ticks);
}

// Ends the connections of a node's phones.
static void empty(uint32_t first, uint32_t last) {
    for (uint32_t phone = 0; phone < phones; phone++) {
        uint32_t at = all[phone].place == AWAY ? ALL : all[phone].place % CONNECTING;
        if (at >= first && at <= last) leave(phone, true, 0);
    }
    for (uint32_t index = first; index <= last; index++) nodes[index].listeners = 0;
}

// MARK: Sign-ins

typedef struct { uint64_t tried, failed; } rate;
static rate rates[2];                   // by code, and by a contact

static uint32_t any_node(void) {
    uint32_t region = below(REGIONS);
    for (uint32_t i = 0; i < REGIONS; i++, region = (region + 1) % REGIONS) {
        if (!region_takes(region)) continue;
        uint32_t index = below(NODES);
        while (!takes(region * NODES + index)) index = (index + 1) % NODES;
        return region * NODES + index;
    }
    return ALL;
}

// Carries a sign-in on a node; returns false if it fails there.
static bool carry(uint32_t index, bool is_contact) {
    node *at = &nodes[index];
    if (at->tunnels + at->hostile >= MOST_TUNNELS || delay(at) > HEAD_S * SECOND) return false;
    at->backlog += SIGN_IN_NS;
    at->tunnels++;
    at->started[is_contact][now / SECOND % TUNNEL_S]++;
    return true;
}

static bool sign_in_by_code(void) {
    if (!enters((uint32_t)draw())) return false;
    // A full node answers 503, and the balancer tries two others.
    for (uint32_t attempt = 0; attempt < 3; attempt++) {
        uint32_t index = any_node();
        if (index == ALL) return false;
        if (carry(index, false)) return true;
    }
    return false;
}

static bool sign_in_by_contact(bool push_is_down) {
    uint32_t phone = below(phones), at = all[phone].place;
    if (!enters((uint32_t)draw())) return false;
    if (push_is_down && below(100) < PUSH_PERCENT) {
        uint32_t index = chosen(phone, 0, 0);
        if (index == ALL) return false;
        nodes[index].pushes++;
        nodes[index].pushed[now / SECOND % PUSH_S]++;
        return false;
    }
    if (at < CONNECTING) {
        uint32_t choices = has_second_choice ? 2 : 1;
        for (uint32_t i = 0; i < choices; i++)
            for (uint32_t j = 0; j < choices; j++) if (chosen(phone, i, j) == at) return carry(at, true);
        return false;
    }
    // The contact waits at its first choice, where the phone arrives if it comes in time.
    uint32_t index = chosen(phone, 0, 0);
    if (index == ALL || all[phone].due == NEVER) return false;
    uint32_t ticks = all[phone].due - now + (at == AWAY ? delay(&nodes[index]) : 0);
    return ticks <= HOLD_S * SECOND && carry(index, true);
}

// MARK: Scenarios

static void lose(uint32_t first, uint32_t last) {
    for (uint32_t index = first; index <= last; index++) {
        node *gone = &nodes[index];
        for (uint32_t i = 0; i < TUNNEL_S; i++)
            for (uint32_t way = 0; way < 2; way++) rates[way].failed += gone->started[way][i];
        memset(gone, 0, sizeof *gone);
        set(index, false, false);
    }
    empty(first, last);
}

static void begin_second(scenario kind, uint32_t second) {
    if (kind == ROLLING && second % 20 == 0 && second / 20 < ALL) {
        set(second / 20, true, true);
        empty(second / 20, second / 20);
        if (second > 0) set(second / 20 - 1, true, false);
    }
    if (kind == ALL_RESTARTED && second == EVENT + 10)
        for (uint32_t index = 0; index < ALL; index++) set(index, true, false);
    if (second != EVENT) return;
    switch (kind) {
    case NODE_KILLED: lose(0, 0); break;
    case NODE_DRAINED: set(0, true, true); empty(0, 0); break;
    case REGION_LOST:
        region_gone = 0, region_gone_until = now + FOUND_S * SECOND;
        lose(0, NODES - 1);
        break;
    case REGION_BACK: for (uint32_t index = 0; index < NODES; index++) set(index, true, false); break;
    case ALL_RESTARTED: lose(0, ALL - 1); break;
    default: break;
    }
}

typedef struct { uint32_t storm, handshakes, delay_ms, places; uint64_t bytes; } peaks;

static void end_second(peaks *peak, uint32_t second) {
    uint64_t listening = 0;
    for (uint32_t index = 0; index < ALL; index++) {
        node *at = &nodes[index];
        listening += at->listeners;
        if (second >= EVENT && at->done > peak->handshakes) peak->handshakes = at->done;
        at->done = 0;
        uint64_t bytes = (uint64_t)at->listeners * LISTENER_BYTES + (uint64_t)(at->tunnels + at->hostile) * TUNNEL_BYTES;
        if (second >= EVENT && bytes > peak->bytes) peak->bytes = bytes;
        if (at->pushes > peak->places) peak->places = at->pushes;
        for (uint32_t way = 0; way < 2; way++) {
            at->tunnels -= at->started[way][(second + 1) % TUNNEL_S];
            at->started[way][(second + 1) % TUNNEL_S] = 0;
        }
        at->pushes -= at->pushed[(second + 1) % PUSH_S];
        at->pushed[(second + 1) % PUSH_S] = 0;
    }
    // Some are always away for some seconds, because their connections have been renewed.
    bool is_missed = listening < (uint64_t)phones * 99 / 100;
    if (is_missed && second >= EVENT && peak->storm == second - EVENT) peak->storm++;
}

static void run(scenario kind, uint32_t sources) {
    peaks peak = {0};
    for (uint32_t index = 0; index < ALL; index++) set(index, kind != REGION_BACK || index >= NODES, false);
    for (uint32_t phone = 0; phone < phones; phone++) {
        all[phone].place = (uint8_t)chosen(phone, 0, 0);
        nodes[all[phone].place].listeners++;
        schedule(phone, below((LIFE_S - LIFE_S / 10) * SECOND));
    }
    // Two sign-ins a day, an eighth of them in the busiest hour, in its busiest part at twice the mean; per tick.
    uint64_t share = 0;
    for (now = 0; now < TICKS; now++) {
        uint32_t second = now / SECOND;
        if (now % SECOND == 0) begin_second(kind, second);
        for (uint32_t index = 0; index < ALL; index++) {
            node *at = &nodes[index];
            if (kind == HOSTILE && second >= EVENT && now % SECOND == 0) {
                uint64_t most = (uint64_t)sources * SOURCE_TUNNELS, wanted = at->hostile + sources;
                uint64_t space = at->tunnels < MOST_TUNNELS ? MOST_TUNNELS - at->tunnels : 0;
                if (wanted > most) wanted = most;
                at->hostile = (uint32_t)(wanted < space ? wanted : space);
            }
            int64_t work = (int64_t)at->listeners * PING_NS / (PING_S * SECOND);
            at->backlog += work - (int64_t)CPUS * TICK_MS * 1000000;
            if (at->backlog < 0) at->backlog = 0;
            // A twentieth of the most listeners in a second, and a tenth at once.
            int64_t tokens = at->tokens + (int64_t)most_listeners * 1000 / 20 / SECOND;
            int64_t burst = (int64_t)most_listeners * 100;
            at->tokens = now == 0 || tokens > burst ? burst : tokens;
            uint32_t ms = (uint32_t)(at->backlog / CPUS / 1000000);
            if (second >= EVENT && at->is_up && ms > peak.delay_ms) peak.delay_ms = ms;
        }
        for (uint32_t head = heads[now]; head; head = heads[now]) {
            chunk events = chunks[head];
            heads[now] = events.next;
            chunks[head].next = free_chunk;
            free_chunk = head;
            for (uint32_t i = 0; i < events.count; i++) {
                __builtin_prefetch(&all[events.phones[i + AHEAD < events.count ? i + AHEAD : i]]);
                if (all[events.phones[i]].due == now) happens(events.phones[i]);
            }
        }
        bool is_crowd = kind == FLASH && second >= EVENT && second < EVENT + 60;
        share += (uint64_t)phones * (is_crowd ? 20 : 1);
        // 1/7200 of the users in a second.
        for (; share >= 7200u * SECOND; share -= 7200u * SECOND) {
            bool is_contact = below(2);
            bool is_done = is_contact ? sign_in_by_contact(kind == PUSH_DOWN && second >= EVENT) : sign_in_by_code();
            // At the end, the returns of phones are not simulated any more.
            if ((second < EVENT && kind != ROLLING) || second >= SECONDS - LAST_S) continue;
            rates[is_contact].tried++;
            rates[is_contact].failed += !is_done;
        }
        if (now % SECOND == SECOND - 1) end_second(&peak, second);
    }
    // In millionths, without floating point.
    uint64_t parts[2];
    for (uint32_t way = 0; way < 2; way++) {
        parts[way] = 1000000 - (rates[way].tried ? rates[way].failed * 1000000 / rates[way].tried : 0);
    }
    printf("| `%s` | %" PRIu32 " s | %" PRIu32 " | %" PRIu32 " ms | %" PRIu64 ".%" PRIu64 " GiB | %" PRIu64 ".%02" PRIu64
           " %% | %" PRIu64 ".%02" PRIu64 " %% |", names[kind], peak.storm, peak.handshakes, peak.delay_ms,
           peak.bytes >> 30, (peak.bytes & 0x3FFFFFFF) * 10 >> 30, parts[0] / 10000, parts[0] / 100 % 100, parts[1] / 10000,
           parts[1] / 100 % 100);
    if (kind == PUSH_DOWN) printf(" %" PRIu32 " places of pushes", peak.places);
    if (kind == HOSTILE) printf(" %" PRIu32 " sources", sources);
    printf("\n");
}

static uint64_t number(const char *text, uint64_t most) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value > most) {
        fprintf(stderr, "fleet: not a number up to %" PRIu64 ": %s\n", most, text);
        exit(64);
    }
    return value;
}

// fleet SCENARIO PHONES SEED SOURCES SECOND-CHOICE
int main(int count, char **arguments) {
    scenario kind = CALM;
    while (count == 6 && kind < SCENARIOS && strcmp(arguments[1], names[kind]) != 0) kind++;
    if (count != 6 || kind == SCENARIOS) {
        fprintf(stderr, "usage: fleet SCENARIO PHONES SEED SOURCES SECOND-CHOICE; see Benchmarks/fleet\n");
        return 64;
    }
    phones = (uint32_t)number(arguments[2], 200000000);
    if (phones < 10000) { fprintf(stderr, "fleet: at least 10000 phones\n"); return 64; }
    state = mixed(number(arguments[3], UINT64_MAX) + 1);
    has_second_choice = number(arguments[5], 1);
    // Room for all phones of one region in the others.
    most_listeners = phones / ALL * 2;
    all = room(phones, sizeof *all);
    most_chunks = phones / CHUNK * 2 + TICKS + 2;
    chunks = room(most_chunks, sizeof *chunks);
    run(kind, (uint32_t)number(arguments[4], 1000000));
    return 0;
}
