// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <linux/openat2.h>
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
