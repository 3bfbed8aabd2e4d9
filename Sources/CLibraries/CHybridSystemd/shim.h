// SPDX-License-Identifier: Apache-2.0
#pragma once
// No wrappers are needed: append_basic, open_container, read_basic and enter_container are not variadic.
#include <sys/eventfd.h>
#include <systemd/sd-bus.h>
