// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives
internal import HybridThreads

/// TLS sessions of servers, each of which is used for at most one later connection.
///
/// A session belongs to a host name and to the trust anchors that its certificate was verified with. It is not used with
/// others. A connection with a session can send its first request with TLS 1.3 early data, one round trip earlier.
public final class TLSSessions: Sendable {
    /// The host and the trust anchors of a session.
    struct Key: Hashable, Sendable {
        /// Length of ``digest`` in bytes.
        static let length = 32
        /// SHA-256 of the anchors' identity and the host's name.
        let digest: [UInt8]

        /// Creates the key of a host's sessions.
        ///
        /// - Parameters:
        ///   - host: The name in the certificate.
        ///   - anchors: SHA-256 of the file of trusted certificates; empty for the system's.
        init(host: String, anchors: [UInt8]) {
            var hash = SHA256()
            hash.update(data: [UInt8(anchors.count)])
            hash.update(data: anchors)
            hash.update(data: Array(host.lowercased().utf8))
            digest = Array(hash.finalize())
        }
    }

    /// Maximum number of sessions in memory; a connection keeps up to four.
    static let maximumCount = 8

    private let sessions = Locked<[(key: Key, session: TLSSession)]>([])
    private let files: TLSSessionFiles?

    /// Creates a collection in memory only.
    public init() { files = nil }

    /// Creates a collection of files, one for each host, which holds its last session.
    ///
    /// A file has mode 0600 and is removed when its session is used. Without access to the folder, there are no
    /// sessions, which is not an error.
    ///
    /// - Parameter folder: The absolute path of a folder that only its user can access; it is not created.
    public init(folder: String) { files = TLSSessionFiles(folder: folder) }

    /// Removes and returns the latest session of a host, if there is one.
    ///
    /// With files, this blocks for a short read.
    func take(_ key: Key) -> TLSSession? {
        if let files { return files.take(key) }
        return sessions.withLock { sessions in
            guard let index = sessions.lastIndex(where: { $0.key == key }) else { return nil }
            return sessions.remove(at: index).session
        }
    }

    /// Keeps a session; without room, the oldest one is dropped.
    ///
    /// With files, this blocks for a short write.
    func put(_ session: TLSSession, for key: Key) {
        if let files { return files.put(session, for: key) }
        sessions.withLock { sessions in
            if sessions.count == Self.maximumCount { sessions.removeFirst() }
            sessions.append((key, session))
        }
    }

    /// Removes all sessions; failures of the file system are ignored.
    package func removeAll() {
        if let files { return files.removeAll() }
        sessions.withLock { $0 = [] }
    }
}
