// SPDX-License-Identifier: Apache-2.0

private import CNIOBoringSSL

// Functions of BoringSSL in this file (see BoringSSLErrors.swift):
//
// - SSL_set_accept_state, SSL_set_shed_handshake_config

extension TLSEngine {
    /// Makes this the server's side, which frees the settings of the handshake at its end.
    package func accept() {
        SSL_set_shed_handshake_config(ssl, 1)
        SSL_set_accept_state(ssl)
    }
}
