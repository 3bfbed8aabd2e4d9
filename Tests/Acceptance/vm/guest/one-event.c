// SPDX-License-Identifier: Apache-2.0
// Preloaded into btvirt: limits its main loop to one event at a time. It requests ten. If the first is a command that
// removes an advert, and the second is that advert's timer, the timer is freed before its turn and btvirt crashes
// (BlueZ 5.82; more often on a busy machine).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/epoll.h>

int epoll_wait(int set, struct epoll_event *events, int most, int timeout)
{
    int (*real)(int, struct epoll_event *, int, int) =
        (int (*)(int, struct epoll_event *, int, int)) dlsym(RTLD_NEXT, "epoll_wait");
    return real(set, events, most > 1 ? 1 : most, timeout);
}
