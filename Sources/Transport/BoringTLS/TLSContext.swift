// SPDX-License-Identifier: Apache-2.0

private import CNIOBoringSSL

// Functions of BoringSSL in this file (see BoringSSLErrors.swift):
//
// - ERR_clear_error, SSL_CTX_free, SSL_CTX_new, SSL_CTX_set1_group_ids, SSL_CTX_set_cipher_list,
//   SSL_CTX_set_max_proto_version, SSL_CTX_set_min_proto_version, TLS_client_method, TLS_server_method

/// The TLS settings of connections on all threads: version 1.2 or 1.3, and no renegotiation.
///
/// Extensions have the parts of one side only: certificate, key and early data of a server, trust and sessions of a
/// client.
package final class TLSContext: Sendable {
    /// The side of a connection.
    package enum Side: Sendable {
        case client
        case server
    }

    /// The settings cannot be used; `reason` is BoringSSL's text.
    package struct SetupError: Error {
        package let reason: String
    }

    // SAFETY of nonisolated(unsafe): the pointer is constant. The functions that change settings are called only by the
    // initializers of the relay's and the client's context, before another thread or a connection has this object. From
    // then on, connections change only reference counts and the cache of sessions, which BoringSSL updates atomically or
    // under its own lock; `deinit` runs when no thread has a reference.
    nonisolated(unsafe) let pointer: OpaquePointer

    /// The groups for key agreement.
    ///
    /// The first one protects against attackers who record traffic now to decrypt it later. Browsers and phones offer
    /// it.
    private static var groups: [UInt16] {
        [SSL_GROUP_X25519_MLKEM768, SSL_GROUP_X25519, SSL_GROUP_SECP256R1, SSL_GROUP_SECP384R1].map { UInt16($0) }
    }

    /// Creates settings.
    ///
    /// - Parameters:
    ///   - side: The side of the connections.
    ///   - ciphers: Suites below TLS 1.3, which has no others than secure ones, in BoringSSL's notation.
    ///   - permitsOldVersions: True to permit TLS 1.0 and 1.1, to inspect a server.
    package init(_ side: Side, ciphers: String, permitsOldVersions: Bool = false) throws(SetupError) {
        defer { ERR_clear_error() }
        guard let context = SSL_CTX_new(side == .server ? TLS_server_method() : TLS_client_method()) else {
            throw SetupError(reason: "no memory")
        }
        pointer = context
        // The deinitializer frees the context if the following throws.
        let groups = Self.groups
        guard SSL_CTX_set_min_proto_version(context, UInt16(permitsOldVersions ? TLS1_VERSION : TLS1_2_VERSION)) == 1,
            SSL_CTX_set_max_proto_version(context, UInt16(TLS1_3_VERSION)) == 1,
            SSL_CTX_set_cipher_list(context, ciphers) == 1,
            SSL_CTX_set1_group_ids(context, groups, groups.count) == 1
        else { throw SetupError(reason: BoringSSLErrors.takeText()) }
    }

    deinit { SSL_CTX_free(pointer) }
}
