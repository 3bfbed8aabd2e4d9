// SPDX-License-Identifier: Apache-2.0
// libcrypto as Swift sees it; only tests import it, as a second opinion on every computation.
#pragma once
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/obj_mac.h>
