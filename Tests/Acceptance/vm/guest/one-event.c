// SPDX-License-Identifier: Apache-2.0
// Preloaded into btvirt: the main loop gets one event at a time.
//
// It asks for ten. When the first of them is a command that takes an advert away, and the second is that advert's timer,
// the timer has been freed before its turn, and btvirt crashes (BlueZ 5.82; the busier the machine, the more often).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/epoll.h>

int epoll_wait(int set, struct epoll_event *events, int most, int timeout)
{
    int (*real)(int, struct epoll_event *, int, int) =
        (int (*)(int, struct epoll_event *, int, int)) dlsym(RTLD_NEXT, "epoll_wait");
    return real(set, events, most > 1 ? 1 : most, timeout);
}
