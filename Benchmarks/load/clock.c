// SPDX-License-Identifier: Apache-2.0
#include "load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t nanoseconds(void) { return read_clock(CLOCK_MONOTONIC); }

uint64_t own_cpu(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

// splitmix64 with a fixed seed: two runs give the server the same work.
uint64_t chance(void) {
    static uint64_t state = 2026;
    uint64_t mixed = state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}

void leave(int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("load: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(status);
}

void *room_for(void *old, size_t bytes) {
    void *room = realloc(old, bytes);
    if (!room) leave(70, "out of memory");
    return room;
}
