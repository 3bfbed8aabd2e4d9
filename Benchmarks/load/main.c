// SPDX-License-Identifier: Apache-2.0
#include "load.h"

#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct options options = {
    .cpu = -1,
    .tunnels = 64,
    .at_once = 16,
    .warm_up = 100,
    .size = 256,
    .window = 16,
    .burst = 1500,
    .seconds = 1.5,
    .warm_up_seconds = 0.3,
    .hold = 1.5,
    .patience = 20,
    .suites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256",
};

static const char usage[] =
    "load WORK --port N [--pid N] [options]\n"
    "\n"
    "  signins     --tunnels N --at-once N --warm-up N    complete sign-ins\n"
    "  handshakes  --tunnels N --at-once N --warm-up N    TCP and TLS only\n"
    "  pingpong    --tunnels N --size N --seconds S       messages there and back\n"
    "  stream      --tunnels N --size N --window N --seconds S   messages from client to phone\n"
    "  idle        --tunnels N --hold S                   open tunnels; memory, CPU while idle\n"
    "  churn       --tunnels N --burst N --at-once N --hold S    idle, sign-ins, idle, idle\n"
    "  listeners   --tunnels N --hold S                   linked phones: memory of half and of all, CPU with pings\n"
    "\n"
    "  --pid N                 the server, whose CPU and memory are reported\n"
    "  --cpu N                 run on this CPU\n"
    "  --tls                   with TLS 1.3; --resume: with session tickets; --suites LIST: OpenSSL's names, in order\n"
    "  --warm-up-seconds S     before measuring messages\n"
    "  --patience S            time without progress after which the remaining tunnels have failed\n";

static double number(const char *option, const char *text, double least, double most, bool whole) {
    char *rest;
    double value = strtod(text, &rest);
    if (rest == text || *rest || !(value >= least && value <= most) || (whole && value != floor(value)))
        leave(64, "--%s: expected %s from %g to %g, found %s", option, whole ? "a whole number" : "a number", least, most,
              text);
    return value;
}

static void read_options(int count, char **words) {
    static const struct option names[] = {
        {"port", 1, 0, 'p'},     {"pid", 1, 0, 'P'},     {"cpu", 1, 0, 'c'},  {"tls", 0, 0, 't'},
        {"resume", 0, 0, 'r'},   {"tunnels", 1, 0, 'n'}, {"at-once", 1, 0, 'k'}, {"warm-up", 1, 0, 'w'},
        {"size", 1, 0, 's'},     {"window", 1, 0, 'W'},  {"burst", 1, 0, 'b'}, {"seconds", 1, 0, 'd'},
        {"warm-up-seconds", 1, 0, 'u'}, {"hold", 1, 0, 'h'}, {"patience", 1, 0, 'x'}, {"suites", 1, 0, 'S'},
        {"help", 0, 0, 'H'},     {0, 0, 0, 0},
    };
    int found, index;
    while ((found = getopt_long(count, words, "", names, &index)) != -1) {
        const char *name = found == '?' ? "" : names[index].name;
        switch (found) {
        case 'p': options.port = (int)number(name, optarg, 1, 65535, true); break;
        case 'P': options.server = (pid_t)number(name, optarg, 1, 4194304, true); break;
        case 'c': options.cpu = (int)number(name, optarg, 0, CPU_SETSIZE - 1, true); break;
        case 't': options.tls = true; break;
        case 'r': options.resume = true; break;
        case 'n': options.tunnels = (int)number(name, optarg, 1, 1000000, true); break;
        case 'k': options.at_once = (int)number(name, optarg, 1, 10000, true); break;
        case 'w': options.warm_up = (int)number(name, optarg, 0, 1000000, true); break;
        case 's': options.size = (int)number(name, optarg, 1, LARGEST_MESSAGE, true); break;
        case 'W': options.window = (int)number(name, optarg, 1, 1000, true); break;
        case 'b': options.burst = (int)number(name, optarg, 1, 1000000, true); break;
        case 'd': options.seconds = number(name, optarg, 0.01, 3600, false); break;
        case 'u': options.warm_up_seconds = number(name, optarg, 0, 3600, false); break;
        case 'h': options.hold = number(name, optarg, 0, 86400, false); break;
        case 'x': options.patience = number(name, optarg, 1, 3600, false); break;
        case 'S': options.suites = optarg; break;
        case 'H': fputs(usage, stdout); exit(0);
        default: exit(64);
        }
    }
    if (!options.port) leave(64, "--port is missing; see --help");
    if (options.resume && !options.tls) leave(64, "--resume needs --tls");
}

static void allow_descriptors(rlim_t wanted) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= wanted) return;
    limit.rlim_cur = wanted;
    if (limit.rlim_max < wanted) limit.rlim_max = wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        leave(69, "the process cannot open %lu descriptors; see ulimit -n", (unsigned long)wanted);
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*run)(void);
    } works[] = {{"signins", work_signins},   {"handshakes", work_handshakes}, {"pingpong", work_pingpong},
                 {"stream", work_stream},     {"idle", work_idle},             {"churn", work_churn},
                 {"listeners", work_listeners}};
    void (*run)(void) = NULL;
    read_options(count, words);
    for (size_t i = 0; i < sizeof works / sizeof *works && optind == count - 1; i++)
        if (strcmp(words[optind], works[i].name) == 0) run = works[i].run;
    if (!run) leave(64, "the name of the work is missing; see --help");
    if (run == work_handshakes && !options.tls) leave(64, "handshakes need --tls");
    if (options.cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((unsigned)options.cpu, &set);
        if (sched_setaffinity(0, sizeof set, &set) != 0) leave(64, "there is no CPU %d", options.cpu);
    }
    signal(SIGPIPE, SIG_IGN);
    // These works open and close their tunnels one after the other; the others keep all of them open.
    bool in_turn = run == work_signins || run == work_handshakes;
    int most = in_turn || options.at_once > options.tunnels ? options.at_once : options.tunnels;
    // Both ends of a tunnel use a descriptor of this process. A linked phone has one.
    allow_descriptors((run == work_listeners ? 1 : 2) * (rlim_t)most + 64);
    server_find(options.server);
    net_begin();
    run();
    report_end();
    return counts.failed ? 1 : 0;
}
