// SPDX-License-Identifier: Apache-2.0

// Loaded into every process of a test run (LD_PRELOAD): delays some system calls for a random time, as a busy machine
// does, so that race conditions become visible. Linux and glibc only.
//
// DELAYS_SHARE is the number of calls in a thousand that are delayed, DELAYS_LONGEST the longest delay in microseconds.
// Without DELAYS_SHARE, no call is delayed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static unsigned share, longest;

__attribute__((constructor)) static void read_settings(void) {
    const char *of_thousand = getenv("DELAYS_SHARE"), *microseconds = getenv("DELAYS_LONGEST");
    share = of_thousand ? (unsigned)atoi(of_thousand) : 0;
    longest = microseconds ? (unsigned)atoi(microseconds) : 40000;
}

// Each thread has a random sequence of its own, seeded by the clock: no two runs have the same order of events.
static uint64_t draw(void) {
    static __thread uint64_t state;
    if (state == 0) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        state = ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)getpid() << 16 ^ (uintptr_t)&state) | 1;
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void delay(void) {
    if (share == 0 || longest == 0) return;
    uint64_t drawn = draw();
    if (drawn % 1000 >= share) return;
    uint64_t microseconds = (drawn >> 20) % longest;
    struct timespec pause = {(time_t)(microseconds / 1000000), (long)(microseconds % 1000000) * 1000};
    int saved_errno = errno;
    nanosleep(&pause, NULL);
    errno = saved_errno;
}

#define DELAYED(result, name, parameters, arguments)                               \
    result name parameters {                                                       \
        static result (*real) parameters;                                          \
        if (!real) real = (result(*) parameters)dlsym(RTLD_NEXT, #name);           \
        delay();                                                                   \
        return real arguments;                                                     \
    }

DELAYED(ssize_t, read, (int file, void *bytes, size_t count), (file, bytes, count))
DELAYED(ssize_t, write, (int file, const void *bytes, size_t count), (file, bytes, count))
DELAYED(ssize_t, readv, (int file, const struct iovec *parts, int count), (file, parts, count))
DELAYED(ssize_t, writev, (int file, const struct iovec *parts, int count), (file, parts, count))
DELAYED(ssize_t, recv, (int file, void *bytes, size_t count, int flags), (file, bytes, count, flags))
DELAYED(ssize_t, send, (int file, const void *bytes, size_t count, int flags), (file, bytes, count, flags))
DELAYED(ssize_t, recvmsg, (int file, struct msghdr *message, int flags), (file, message, flags))
DELAYED(ssize_t, sendmsg, (int file, const struct msghdr *message, int flags), (file, message, flags))
DELAYED(int, epoll_wait, (int file, struct epoll_event *events, int most, int time), (file, events, most, time))
DELAYED(int, poll, (struct pollfd *files, nfds_t count, int time), (files, count, time))
DELAYED(int, accept4, (int file, struct sockaddr *name, socklen_t *size, int flags), (file, name, size, flags))
DELAYED(int, connect, (int file, const struct sockaddr *name, socklen_t size), (file, name, size))
DELAYED(int, shutdown, (int file, int how), (file, how))
DELAYED(int, close, (int file), (file))
