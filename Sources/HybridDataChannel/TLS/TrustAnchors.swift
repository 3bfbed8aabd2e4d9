// SPDX-License-Identifier: Apache-2.0

internal import NIOSSL

/// Files of certificates (PEM) that are trusted instead of the system's.
public enum TrustAnchors {
    /// Reads a file as opening a tunnel will, for who wants to know of a mistake before anybody waits.
    ///
    /// - Throws: ``TunnelError/trustAnchorsUnusable(_:)``.
    public static func check(_ path: String) throws(TunnelError) { _ = try certificates(in: path) }

    /// The certificates of a file, at least one.
    static func certificates(in path: String) throws(TunnelError) -> [NIOSSLCertificate] {
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(path), !certificates.isEmpty else {
            throw .trustAnchorsUnusable(path)
        }
        return certificates
    }
}
