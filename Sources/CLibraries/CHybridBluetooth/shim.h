// SPDX-License-Identifier: Apache-2.0
#pragma once
// Nothing is linked: the kernel's socket addresses and options are all that is wanted.
#include <bluetooth/bluetooth.h>
#include <bluetooth/l2cap.h>

// glibc shows it to GNU sources alone.
int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
