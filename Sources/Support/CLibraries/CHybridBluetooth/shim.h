// SPDX-License-Identifier: Apache-2.0
#pragma once
// Headers only, for socket addresses and options of the kernel. No library is linked.
#include <bluetooth/bluetooth.h>
#include <bluetooth/l2cap.h>

// glibc declares this function only with _GNU_SOURCE.
int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
