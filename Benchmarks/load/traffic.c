// SPDX-License-Identifier: Apache-2.0
// Works measured by CPU time: sign-ins, handshakes, messages there and back, messages in one direction.
#include "load.h"

// Messages of one sign-in: handshake and response, getInfo, the request and the signature, the rest of the ceremony, a
// large one, the shutdown. The ends take turns; the client begins.
static const int signin_sizes[] = {81, 81, 352, 528, 1040, 544, 4096, 32};
#define SIGNIN_MESSAGES 8

static bool measuring, measured, stopping;
static uint64_t cpu_at, own_at, time_at, messages_at, bytes_at, resumed;

static void measure(void) {
    measuring = true;
    samples_clear();
    messages_at = counts.messages;
    bytes_at = counts.bytes;
    resumed = 0;
    time_at = nanoseconds();
    own_at = own_cpu();
    cpu_at = server_cpu();
}

static void stop_measuring(void) {
    cpu_at = server_cpu() - cpu_at;
    own_at = own_cpu() - own_at;
    time_at = nanoseconds() - time_at;
    messages_at = counts.messages - messages_at;
    bytes_at = counts.bytes - bytes_at;
    measuring = false;
    measured = true;
}

// Resources used between measure() and stop_measuring(), per unit.
static void report_cost(const char *unit, double units) {
    report_number(unit, units, 0);
    report_number("seconds", (double)time_at / 1e9, 3);
    report_number("server_us", units > 0 ? (double)cpu_at / units / 1e3 : 0, 3);
    report_number("load_us", units > 0 ? (double)own_at / units / 1e3 : 0, 3);
    report_number("server_share", (double)cpu_at / (double)time_at, 3);
    if (sample_quantile(0) > 0) {
        report_number("p50_us", sample_quantile(0.5) / 1e3, 1);
        report_number("p99_us", sample_quantile(0.99) / 1e3, 1);
    }
}

// ---- sign-ins and handshakes: a number after the warm-up, a number concurrently

static int signin_size(const struct end *sender, uint32_t number) {
    return signin_sizes[(2 * number + sender->phone) % SIGNIN_MESSAGES];
}

static void signin_joined(struct tunnel *tunnel) { tunnel_say(&tunnel->client); }

static void signin_arrived(struct end *end, size_t length) {
    (void)length;
    if (++end->tunnel->step < SIGNIN_MESSAGES)
        tunnel_say(end);
    else
        tunnel_close(end->tunnel);
}

static uint64_t first_measured, first_after;

// More begin than are counted, so that the load is the same at the end of the measurement as at its start.
static void begin_further(void) {
    while (counts.active < options.at_once && counts.started < first_after + (uint64_t)options.at_once)
        if (!tunnel_start()) return;
}

static void one_ended(struct tunnel *tunnel) {
    if (counts.completed == first_measured && !measuring && !measured) {
        measure();
    } else if (measuring) {
        sample_add(nanoseconds() - tunnel->started);
        resumed += (uint64_t)tunnel->resumed;
    }
    if (counts.completed == first_after && measuring) stop_measuring();
}

static bool all_ended(void) {
    begin_further();
    return counts.active == 0;
}

static void measure_each(const struct work *work, const char *name) {
    tunnels_begin(options.at_once, work);
    counts = (struct counts){.failed = counts.failed};
    first_measured = (uint64_t)options.warm_up;
    first_after = first_measured + (uint64_t)options.tunnels;
    if (options.warm_up == 0) measure();
    wait_until(all_ended);
    if (!measured) stop_measuring();
    report_begin(name);
    report_cost("count", counts.failed ? 0 : options.tunnels);
    report_number("resumed", (double)resumed, 0);
    report_number("at_once", options.at_once, 0);
}

// Sign-ins that are not measured.
static uint64_t burst_limit;

static bool burst_gone(void) {
    while (counts.active < options.at_once && counts.started < burst_limit)
        if (!tunnel_start()) break;
    return counts.active == 0;
}

void burst_of_signins(int count) {
    static const struct work work = {.joined = signin_joined, .arrived = signin_arrived, .size = signin_size};
    tunnels_begin(options.at_once, &work);
    burst_limit = counts.started + (uint64_t)count;
    wait_until(burst_gone);
}

void work_signins(void) {
    static const struct work work = {
        .joined = signin_joined, .arrived = signin_arrived, .ended = one_ended, .size = signin_size};
    measure_each(&work, "signins");
}

void work_handshakes(void) {
    static const struct work work = {.handshake_only = true, .ended = one_ended};
    // Some servers send tickets only with data: a sign-in obtains one for all handshakes.
    if (options.resume) burst_of_signins(1);
    measure_each(&work, "handshakes");
}

// ---- messages, for a number of seconds

static int even_size(const struct end *sender, uint32_t number) {
    (void)sender;
    (void)number;
    return options.size;
}

static bool all_open(void) {
    while (counts.opening < 32 && counts.started < (uint64_t)options.tunnels)
        if (!tunnel_start()) break;
    return counts.started == (uint64_t)options.tunnels && counts.opening == 0;
}

static void measure_traffic(const struct work *work, const char *name, int in_flight) {
    tunnels_begin(options.tunnels, work);
    wait_until(all_open);
    for (int i = 0; i < options.tunnels; i++) {
        struct tunnel *tunnel = tunnel_at((uint32_t)i);
        tunnel->asked = nanoseconds();
        for (int j = 0; j < in_flight && tunnel->active; j++) tunnel_say(&tunnel->client);
    }
    turn_for(options.warm_up_seconds);
    measure();
    turn_for(options.seconds);
    stop_measuring();
    struct memory memory = server_memory();
    stopping = true;
    // Messages under way arrive before the Close frame that follows them.
    for (int turns = 0; turns < 100 && net_turn(20); turns++) continue;
    close_all();
    if (messages_at == 0) {
        counts.failed++;
        reason_count("no message arrived");
    }
    report_begin(name);
    report_cost("count", (double)messages_at);
    report_number("mb_per_s", (double)bytes_at / 1e6 / ((double)time_at / 1e9), 1);
    report_number("tunnels", options.tunnels, 0);
    report_number("size", options.size, 0);
    report_number("rss_kib", (double)memory.resident, 0);
}

static void ball_arrived(struct end *end, size_t length) {
    (void)length;
    struct tunnel *tunnel = end->tunnel;
    if (!end->phone) {
        uint64_t now = nanoseconds();
        if (measuring) sample_add(now - tunnel->asked);
        tunnel->asked = now;
        if (stopping) return;
    }
    tunnel_say(end);
}

void work_pingpong(void) {
    static const struct work work = {.arrived = ball_arrived, .size = even_size};
    measure_traffic(&work, "pingpong", 1);
}

static void drop_arrived(struct end *end, size_t length) {
    (void)length;
    if (!stopping) tunnel_say(other_end(end));
}

void work_stream(void) {
    static const struct work work = {.arrived = drop_arrived, .size = even_size};
    measure_traffic(&work, "stream", options.window);
}

