// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

@testable import HybridNetwork

@Suite("TLS sessions for later connections")
struct TLSSessionsTests {
    private static let key = TLSSessions.Key(host: "relay.example", anchors: [])

    private static func session(_ byte: UInt8, count: Int = 100) -> TLSSession? {
        [UInt8](repeating: byte, count: count).withUnsafeBytes { TLSSession(bytes: $0) }
    }

    private static func bytes(_ session: TLSSession?) -> [UInt8]? { session?.withUnsafeBytes { Array($0) } }

    /// Runs `body` with sessions in memory, and with sessions in files.
    private static func withEach(_ body: (TLSSessions) throws -> Void) async throws {
        try body(TLSSessions())
        try await TestFolder.with { try body(TLSSessions(folder: $0.path)) }
    }

    @Test("A session is taken once")
    func once() async throws {
        try await Self.withEach { sessions in
            #expect(sessions.take(Self.key) == nil)
            sessions.put(try #require(Self.session(1)), for: Self.key)
            #expect(Self.bytes(sessions.take(Self.key)) == [UInt8](repeating: 1, count: 100))
            #expect(sessions.take(Self.key) == nil)
        }
    }

    @Test("The latest session comes first")
    func latest() async throws {
        try await Self.withEach { sessions in
            for byte in 1...3 { sessions.put(try #require(Self.session(UInt8(byte))), for: Self.key) }
            #expect(Self.bytes(sessions.take(Self.key))?.first == 3)
        }
    }

    @Test("All sessions can be removed")
    func removal() async throws {
        try await Self.withEach { sessions in
            sessions.put(try #require(Self.session(1)), for: Self.key)
            sessions.removeAll()
            #expect(sessions.take(Self.key) == nil)
        }
    }

    @Test("A session is for one host, in any case of its letters, and for one set of trust anchors")
    func binding() async throws {
        let key = TLSSessions.Key(host: "relay.example", anchors: [114])
        let others = [
            TLSSessions.Key(host: "other.example", anchors: [114]),
            TLSSessions.Key(host: "relay.example", anchors: [1]),
            TLSSessions.Key(host: "rrelay.example", anchors: []),
            TLSSessions.Key(host: "elay.example", anchors: [114, 114]),
        ]
        try await Self.withEach { sessions in
            sessions.put(try #require(Self.session(1)), for: TLSSessions.Key(host: "Relay.example", anchors: [114]))
            for other in others { #expect(sessions.take(other) == nil) }
            #expect(sessions.take(key) != nil)
        }
    }

    @Test("The sessions of one owner are not used for another, or for none")
    func owners() async throws {
        try await Self.withEach { sessions in
            let (first, second) = (sessions.owned(by: [1]), sessions.owned(by: [2]))
            let keys = [sessions, first, second].map { $0.key(host: "relay.example", anchors: []) }
            first.put(try #require(Self.session(1)), for: keys[1])
            #expect(second.take(keys[2]) == nil && sessions.take(keys[0]) == nil)
            #expect(sessions.owned(by: [1]).take(keys[1]) != nil)
        }
    }

    @Test("Memory is limited, and the oldest sessions are dropped")
    func limited() throws {
        let sessions = TLSSessions()
        for byte in 0..<100 { sessions.put(try #require(Self.session(UInt8(byte))), for: Self.key) }
        for byte in (100 - TLSSessions.maximumCount..<100).reversed() {
            #expect(Self.bytes(sessions.take(Self.key))?.first == UInt8(byte))
        }
        #expect(sessions.take(Self.key) == nil)
    }

    @Test("A session has 1 byte to 16 KiB, and is not printed")
    func lengths() throws {
        #expect(Self.session(1, count: 0) == nil)
        #expect(Self.session(1, count: TLSSession.maximumLength + 1) == nil)
        let longest = try #require(Self.session(0x41, count: TLSSession.maximumLength))
        var dumped = ""
        dump(longest, to: &dumped)
        #expect(!"\(longest)\(String(reflecting: longest))\(dumped)".contains("65"))
        #expect(!dumped.contains("AAAA"))
    }

    @Test("A file is for its user alone, and is removed when its session is taken")
    func file() async throws {
        try await TestFolder.with { folder in
            let (sessions, files) = (TLSSessions(folder: folder.path), TLSSessionFiles(folder: folder.path))
            let longest = try #require(Self.session(7, count: TLSSession.maximumLength))
            sessions.put(longest, for: Self.key)
            let attributes = try FileManager.default.attributesOfItem(atPath: files.path(Self.key))
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 1)
            // Another process, which knows only the folder.
            #expect(Self.bytes(TLSSessions(folder: folder.path).take(Self.key)) == Self.bytes(longest))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        }
    }

    @Test("Of many that take at once, one gets the session")
    func race() async throws {
        try await TestFolder.with { folder in
            for _ in 0..<20 {
                TLSSessions(folder: folder.path).put(try #require(Self.session(1)), for: Self.key)
                let taken = await withTaskGroup(of: Bool.self) { group in
                    for _ in 0..<8 {
                        group.addTask { TLSSessions(folder: folder.path).take(Self.key) != nil }
                    }
                    return await group.reduce(0) { $1 ? $0 + 1 : $0 }
                }
                // With none, two have met at the file; its lock lets neither use it twice.
                #expect(taken <= 1)
            }
        }
    }

    @Test(
        "A file of unexpected kind, mode, length or key is no session",
        arguments: ["link", "hard link", "folder", "readable", "empty", "too long", "only a key", "other key"]
    )
    func unexpected(kind: String) async throws {
        try await TestFolder.with { folder in
            let path = TLSSessionFiles(folder: folder.path).path(Self.key)
            let sessions = TLSSessions(folder: folder.path)
            sessions.put(try #require(Self.session(1)), for: Self.key)
            let contents = try #require(FileManager.default.contents(atPath: path))
            let other = folder.path + "/other"
            func write(_ data: Data) throws {
                try data.write(to: URL(fileURLWithPath: path))
                chmod(path, 0o600)
            }
            switch kind {
            case "link":
                #expect(rename(path, other) == 0 && symlink(other, path) == 0)
            case "hard link": #expect(link(path, other) == 0)
            case "folder": #expect(unlink(path) == 0 && mkdir(path, 0o700) == 0)
            case "readable": #expect(chmod(path, 0o640) == 0)
            case "empty": try write(Data())
            case "too long": try write(contents + Data(repeating: 0, count: TLSSession.maximumLength))
            case "only a key": try write(contents.prefix(TLSSessions.Key.length))
            default: try write(Data([contents[0] ^ 1]) + contents.dropFirst())
            }
            #expect(sessions.take(Self.key) == nil)
            if kind.contains("link") { #expect(access(other, F_OK) == 0, "the other name's file stays") }
        }
    }

    @Test("Without the folder, there are no sessions")
    func noFolder() throws {
        let sessions = TLSSessions(folder: "/nonexistent/sessions")
        sessions.put(try #require(Self.session(1)), for: Self.key)
        #expect(sessions.take(Self.key) == nil)
        sessions.removeAll()
    }
}
