// SPDX-License-Identifier: Apache-2.0
#include "CHybridFlaw.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static int chosen;

// Opens the file `flaw` beside the program with this path.
static int openBeside(char *path) {
    char *name = strrchr(path, '/');
    if (!name) return -1;
    strcpy(name + 1, "flaw");
    return open(path, O_RDONLY | O_CLOEXEC);
}

// Reads the number from the file, and does so before the program gives up its rights.
__attribute__((constructor)) static void readNumber(void) {
    char path[4096] = {0}, text[16] = {0};
    // A program that starts itself has the path in proc, and a test may mount something else there.
    const char *start = (const char *)getauxval(AT_EXECFN);
    if (start && start[0] == '/') strncpy(path, start, sizeof path - sizeof "flaw");
    int file = openBeside(path);
    if (file < 0) {
        ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof "flaw");
        if (length <= 0) return;
        path[length] = 0;
        file = openBeside(path);
    }
    if (file < 0) return;
    if (read(file, text, sizeof text - 1) > 0) chosen = atoi(text);
    close(file);
}

bool hybridFlaw(int number) { return number == chosen; }
