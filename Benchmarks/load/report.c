// SPDX-License-Identifier: Apache-2.0
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_REASONS 16

static struct {
    char text[120];
    uint64_t count;
} reasons[MOST_REASONS];
static uint64_t other_reasons;

static uint64_t *samples;
static size_t sample_count, sample_room;

static void print_text(const char *text) {
    putchar('"');
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\')
            printf("\\%c", byte);
        else if (byte < 32 || byte > 126)
            printf("\\u%04x", byte);
        else
            putchar(byte);
    }
    putchar('"');
}

void report_begin(const char *work) {
    printf("{\"work\":");
    print_text(work);
    printf(",\"suite\":");
    print_text(options.tls ? net_suite() : "none");
}

void report_number(const char *name, double value, int digits) { printf(",\"%s\":%.*f", name, digits, value); }

void report_end(void) {
    printf(",\"failed\":%llu", (unsigned long long)counts.failed);
    if (counts.failed) {
        const char *comma = "";
        printf(",\"reasons\":{");
        for (int i = 0; i < MOST_REASONS && reasons[i].count; i++, comma = ",") {
            printf("%s", comma);
            print_text(reasons[i].text);
            printf(":%llu", (unsigned long long)reasons[i].count);
        }
        if (other_reasons) printf(",\"others\":%llu", (unsigned long long)other_reasons);
        putchar('}');
    }
    puts("}");
}

void reason_count(const char *reason) {
    for (int i = 0; i < MOST_REASONS; i++) {
        if (!reasons[i].count) snprintf(reasons[i].text, sizeof reasons[i].text, "%s", reason);
        if (strncmp(reasons[i].text, reason, sizeof reasons[i].text - 1) == 0) {
            reasons[i].count++;
            return;
        }
    }
    other_reasons++;
}

void samples_clear(void) { sample_count = 0; }

void sample_add(uint64_t value) {
    if (sample_count == sample_room) {
        sample_room = sample_room ? 2 * sample_room : 4096;
        samples = room_for(samples, sample_room * sizeof *samples);
    }
    samples[sample_count++] = value;
}

static int compare(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

double sample_quantile(double fraction) {
    if (!sample_count) return 0;
    qsort(samples, sample_count, sizeof *samples, compare);
    return (double)samples[(size_t)(fraction * (double)(sample_count - 1))];
}
