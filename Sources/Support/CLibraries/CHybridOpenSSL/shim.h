// SPDX-License-Identifier: Apache-2.0
// libcrypto and libssl, imported by tests only, for comparison with an independent implementation.
#pragma once
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/obj_mac.h>
#include <openssl/ssl.h>
