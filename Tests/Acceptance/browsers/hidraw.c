// SPDX-License-Identifier: Apache-2.0
// Preloaded into a browser on a machine without uhid: opening /dev/hidraw0 connects to the socket HIDRAW_SOCKET, whose packets
// are reports. The queries of a hidraw node have the answers of hybrid-uhid's device.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/hidraw.h>
#include <linux/ioctl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const unsigned char descriptor[] = {
    0x06, 0xD0, 0xF1, 0x09, 0x01, 0xA1, 0x01, 0x09, 0x20, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95,
    0x40, 0x81, 0x02, 0x09, 0x21, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40, 0x91, 0x02, 0xC0};

static int connected(int flags)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("HIDRAW_SOCKET");
    int kind = SOCK_SEQPACKET | SOCK_CLOEXEC | (flags & O_NONBLOCK ? SOCK_NONBLOCK : 0);
    int node = path && strlen(path) < sizeof address.sun_path ? socket(AF_UNIX, kind, 0) : -1;
    if (node >= 0) {
        strcpy(address.sun_path, path);
        if (connect(node, (struct sockaddr *) &address, sizeof address) == 0) return node;
        close(node);
    }
    errno = ENODEV;
    return -1;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...)) dlsym(RTLD_NEXT, #name); \
        va_list rest; \
        va_start(rest, flags); \
        int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0; \
        va_end(rest); \
        return strcmp(path, "/dev/hidraw0") == 0 ? connected(flags) : next(path, flags, mode); \
    }

OPEN(open)
OPEN(open64)

/* Reading from a node whose device is gone fails. Without an error, Chromium reads the end of the socket again and again, and
   keeps each result as a report, until its memory is exhausted. */
ssize_t read(int file, void *data, size_t length)
{
    ssize_t (*next)(int, void *, size_t) = (ssize_t (*)(int, void *, size_t)) dlsym(RTLD_NEXT, "read");
    ssize_t count = next(file, data, length);
    struct sockaddr_un peer;
    socklen_t size = sizeof peer;
    const char *path = getenv("HIDRAW_SOCKET");
    if (count != 0 || length == 0 || !path || getpeername(file, (struct sockaddr *) &peer, &size)) return count;
    if (peer.sun_family != AF_UNIX || size <= sizeof peer.sun_family || strncmp(peer.sun_path, path, sizeof peer.sun_path)) return 0;
    errno = EIO;
    return -1;
}

int ioctl(int file, unsigned long request, ...)
{
    int (*next)(int, unsigned long, ...) = (int (*)(int, unsigned long, ...)) dlsym(RTLD_NEXT, "ioctl");
    struct stat about;
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (_IOC_TYPE(request) != 'H' || fstat(file, &about) || !S_ISSOCK(about.st_mode)) return next(file, request, argument);
    if (request == HIDIOCGRDESCSIZE) {
        *(int *) argument = sizeof descriptor;
        return 0;
    }
    if (request == HIDIOCGRDESC) {
        memcpy(((struct hidraw_report_descriptor *) argument)->value, descriptor, sizeof descriptor);
        return 0;
    }
    if (request == HIDIOCGRAWINFO) {
        *(struct hidraw_devinfo *) argument = (struct hidraw_devinfo) {.bustype = 3, .vendor = 0x1209, .product = (short) 0xCAB1};
        return 0;
    }
    if (_IOC_NR(request) == _IOC_NR(HIDIOCGRAWNAME(0))) {
        strncpy(argument, "Phone", _IOC_SIZE(request));
        return sizeof "Phone";
    }
    errno = EINVAL;
    return -1;
}
