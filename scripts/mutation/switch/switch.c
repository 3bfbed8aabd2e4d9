// SPDX-License-Identifier: Apache-2.0
#include "CHybridFlaw.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int chosen;

// Reads the number from the file `flaw` beside the program, and does so before the program gives up its rights.
__attribute__((constructor)) static void readNumber(void) {
    char path[4096], text[16] = {0};
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof "flaw");
    if (length <= 0) return;
    path[length] = 0;
    strcpy(strrchr(path, '/') + 1, "flaw");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    if (read(file, text, sizeof text - 1) > 0) chosen = atoi(text);
    close(file);
}

bool hybridFlaw(int number) { return number == chosen; }
