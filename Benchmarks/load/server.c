// SPDX-License-Identifier: Apache-2.0
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static pid_t server;
static clockid_t server_clock;

void server_find(pid_t pid) {
    server = pid;
    if (server && clock_getcpuclockid(server, &server_clock) != 0) leave(69, "there is no process %d", (int)server);
}

// User and system time of all threads, including ended ones.
uint64_t server_cpu(void) {
    struct timespec used;
    if (!server) return 0;
    if (clock_gettime(server_clock, &used) != 0) leave(69, "the server has ended");
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

struct memory server_memory(void) {
    struct memory memory = {0, 0};
    char path[64], line[256];
    if (!server) return memory;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)server);
    FILE *file = fopen(path, "r");
    if (!file) leave(69, "cannot read %s: %s", path, strerror(errno));
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "Rss: %ld", &memory.resident);
        sscanf(line, "Anonymous: %ld", &memory.anonymous);
    }
    fclose(file);
    return memory;
}
