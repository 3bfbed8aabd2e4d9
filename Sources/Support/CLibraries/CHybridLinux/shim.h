// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <linux/openat2.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

// prctl and syscall are variadic. glibc 2.36 has no function for openat2.
static inline int hybrid_set_dumpable(unsigned long dumpable) {
    return prctl(PR_SET_DUMPABLE, dumpable, 0UL, 0UL, 0UL);
}

static inline int hybrid_openat2(int directory, const char *path, struct open_how *how) {
    return (int)syscall(SYS_openat2, directory, path, how, sizeof *how);
}

// accept4 is declared only with _GNU_SOURCE. The length is that of the address, in bytes.
static inline int hybrid_accept(int listener, void *address, unsigned *length, int flags) {
    return (int)syscall(SYS_accept4, listener, address, length, flags);
}

// The data of an event is a union, and its structure is packed on some architectures.
static inline int hybrid_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t data) {
    struct epoll_event event = {.events = events, .data = {.u64 = data}};
    return epoll_ctl(epoll, operation, descriptor, &event);
}

static inline uint64_t hybrid_epoll_data(const struct epoll_event *event) { return event->data.u64; }

// The macros for sets of CPUs cannot be imported. The set has room for 65,536 CPUs.
static inline int hybrid_usable_processors(void) {
    unsigned long set[1024] = {0};
    long length = syscall(SYS_sched_getaffinity, 0, sizeof set, set);
    int count = 0;
    for (long i = 0; i < length / (long)sizeof *set; i++) count += __builtin_popcountl(set[i]);
    return count > 0 ? count : 1;
}
