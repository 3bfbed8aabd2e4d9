// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives
internal import HybridThreads

/// TLS sessions of servers, each of which is used for at most one later connection.
///
/// A session belongs to a host name, to the trust anchors that its certificate was verified with, and to one owner, such
/// as a link. It is not used with others: a server recognizes its sessions, and would learn that two owners are one
/// device. A connection with a session can send its first request with TLS 1.3 early data, one round trip earlier.
public final class TLSSessions: Sendable {
    /// The host and the trust anchors of a session.
    struct Key: Hashable, Sendable {
        /// Length of ``digest`` in bytes.
        static let length = 32
        /// SHA-256 of the owner, the anchors' identity and the host's name.
        let digest: [UInt8]

        /// Creates the key of a host's sessions.
        ///
        /// - Parameters:
        ///   - host: The name in the certificate.
        ///   - anchors: SHA-256 of the file of trusted certificates; empty for the system's.
        ///   - owner: The owner, at most 255 bytes; empty for none.
        init(host: String, anchors: [UInt8], owner: [UInt8] = []) {
            var hash = SHA256()
            hash.update(data: [UInt8(owner.count)])
            hash.update(data: owner)
            hash.update(data: [UInt8(anchors.count)])
            hash.update(data: anchors)
            hash.update(data: Array(host.lowercased().utf8))
            digest = Array(hash.finalize())
        }
    }

    /// Maximum number of sessions in memory; a connection keeps up to four.
    static let maximumCount = 64

    private let sessions: Locked<[(key: Key, session: TLSSession)]>
    private let files: TLSSessionFiles?
    private let owner: [UInt8]

    /// Creates a collection in memory only.
    public init() { (sessions, files, owner) = (Locked([]), nil, []) }

    /// Creates a collection of files, one for each host, which holds its last session.
    ///
    /// A file has mode 0600 and is removed when its session is used. Without access to the folder, there are no
    /// sessions, which is not an error.
    ///
    /// - Parameter folder: The absolute path of a folder that only its user can access; it is not created.
    public init(folder: String) { (sessions, files, owner) = (Locked([]), TLSSessionFiles(folder: folder), []) }

    private init(_ all: TLSSessions, owner: [UInt8]) {
        (sessions, files, self.owner) = (all.sessions, all.files, owner)
    }

    /// Returns the part of this collection that belongs to an owner, whose ID has at most 255 bytes.
    public func owned(by owner: [UInt8]) -> TLSSessions { TLSSessions(self, owner: owner) }

    /// Returns the key of a host's sessions for the owner of this collection.
    func key(host: String, anchors: [UInt8]) -> Key { Key(host: host, anchors: anchors, owner: owner) }

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
