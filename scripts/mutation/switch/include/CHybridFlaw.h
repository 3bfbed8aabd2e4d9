// SPDX-License-Identifier: Apache-2.0
#include <stdbool.h>

/// Returns true if the flaw of this number is switched on.
bool hybridFlaw(int number);
