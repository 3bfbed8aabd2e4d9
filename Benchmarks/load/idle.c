// SPDX-License-Identifier: Apache-2.0
// Works measured by memory: open idle tunnels, on a new server and on one that has been in use.
#include "load.h"

#define TOUCH 128
#define OPENING 32

static uint64_t wanted;
static int touched;

static int touch_size(const struct end *sender, uint32_t number) {
    (void)sender;
    (void)number;
    return TOUCH;
}

static void touch(struct tunnel *tunnel) { tunnel_say(&tunnel->client); }

// One message each way: in practice, idle tunnels have carried messages.
static void touch_arrived(struct end *end, size_t length) {
    (void)length;
    if (end->phone)
        tunnel_say(end);
    else
        touched++;
}

static bool all_touched(void) {
    while (counts.opening < OPENING && counts.started < wanted)
        if (!tunnel_start()) break;
    return counts.started == wanted && touched == counts.active;
}

static const struct work idle = {.joined = touch, .arrived = touch_arrived, .size = touch_size};

static void open_crowd(void) {
    tunnels_begin(options.tunnels, &idle);
    wanted = counts.started + (uint64_t)options.tunnels;
    touched = 0;
    wait_until(all_touched);
}

static double per_tunnel(long now, long before) { return (double)(now - before) / options.tunnels; }

void work_idle(void) {
    struct memory before = server_memory();
    uint64_t cpu = server_cpu();
    open_crowd();
    double opening = (double)(server_cpu() - cpu);
    turn_for(1);
    struct memory open = server_memory();
    int active = counts.active;
    cpu = server_cpu();
    uint64_t since = nanoseconds();
    turn_for(options.hold);
    double share = (double)(server_cpu() - cpu) / (double)(nanoseconds() - since);
    struct memory held = server_memory();
    int lost = active - counts.active;
    close_all();
    turn_for(1);
    struct memory after = server_memory();
    report_begin("idle");
    report_number("tunnels", options.tunnels, 0);
    report_number("kib_per_tunnel", per_tunnel(open.resident, before.resident), 2);
    report_number("kib_per_tunnel_held", per_tunnel(held.resident, before.resident), 2);
    report_number("anonymous_kib_per_tunnel", per_tunnel(open.anonymous, before.anonymous), 2);
    report_number("open_us", opening / 1e3 / options.tunnels, 1);
    report_number("held_s", options.hold, 1);
    report_number("idle_cpu_percent", 100 * share, 3);
    report_number("lost", lost, 0);
    report_number("rss_start_kib", (double)before.resident, 0);
    report_number("rss_open_kib", (double)open.resident, 0);
    report_number("rss_held_kib", (double)held.resident, 0);
    report_number("rss_closed_kib", (double)after.resident, 0);
}

void work_churn(void) {
    static const char *const names[] = {"fresh_kib", "second_kib", "third_kib"};
    double used[3];
    struct memory before = server_memory();
    for (int cycle = 0; cycle < 3; cycle++) {
        if (cycle == 1) burst_of_signins(options.burst);
        open_crowd();
        turn_for(options.hold);
        used[cycle] = per_tunnel(server_memory().resident, before.resident);
        close_all();
        turn_for(options.hold);
    }
    report_begin("churn");
    for (int cycle = 0; cycle < 3; cycle++) report_number(names[cycle], used[cycle], 2);
    report_number("tunnels", options.tunnels, 0);
    report_number("burst", options.burst, 0);
    report_number("rss_start_kib", (double)before.resident, 0);
    report_number("rss_closed_kib", (double)server_memory().resident, 0);
}
