// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stddef.h>
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

// Memory as a file that cannot be changed; its descriptor is inherited. Returns -1 if there is none. The functions and
// constants are declared only with _GNU_SOURCE.
static inline int hybrid_sealed_memory(const char *name, const void *bytes, size_t count) {
    int descriptor = (int)syscall(SYS_memfd_create, name, 2U /* MFD_ALLOW_SEALING */);
    if (descriptor < 0) return -1;
    // F_ADD_SEALS with all of them: write, grow, shrink, and the seals themselves.
    if (write(descriptor, bytes, count) == (ssize_t)count && syscall(SYS_fcntl, descriptor, 1033, 0x000FUL) == 0)
        return descriptor;
    int reason = errno;
    close(descriptor);
    errno = reason;
    return -1;
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

// Leaves all threads of the process nothing but their memory and their open descriptors: every other system call fails with
// EPERM. Returns 0, or another number if the kernel or the processor does not support it.
static inline int hybrid_confine(void) {
#if defined(__x86_64__) || defined(__aarch64__)
#if defined(__x86_64__)
    const unsigned architecture = AUDIT_ARCH_X86_64;
#else
    const unsigned architecture = AUDIT_ARCH_AARCH64;
#endif
    static const unsigned allowed[] = {
        SYS_read, SYS_write, SYS_close, SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_futex,
        SYS_getrandom, SYS_clock_gettime, SYS_gettimeofday, SYS_sched_yield, SYS_rt_sigaction, SYS_rt_sigprocmask,
        SYS_rt_sigreturn, SYS_getpid, SYS_gettid, SYS_tgkill, SYS_exit, SYS_exit_group,
    };
    enum { COUNT = sizeof allowed / sizeof *allowed };
    struct sock_filter filter[2 * COUNT + 5];
    unsigned short length = 0;
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < COUNT; i++) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    struct sock_fprog program = {.len = length, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0) return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
#else
    return -1;
#endif
}
