// SPDX-License-Identifier: Apache-2.0
#pragma once
// Nothing of sd-bus that is used needs a wrapper: values go in and out one at a time through
// append_basic, open_container, read_basic and enter_container, which are not variadic.
#include <sys/eventfd.h>
#include <systemd/sd-bus.h>
