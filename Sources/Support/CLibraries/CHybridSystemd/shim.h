// SPDX-License-Identifier: Apache-2.0
#pragma once
// No wrappers are needed: append_basic, open_container, read_basic and enter_container are not variadic.
#include <sys/eventfd.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-login.h>
