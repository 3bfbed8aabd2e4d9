// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCTAP
import HybridCommandSupport
import HybridPrimitives
import HybridProgram
import SSHTestSupport
import TestSupport
import Testing

@testable import HybridKeyService
@testable import HybridSSHAgent

/// Returns a stored key with a new passkey.
func storedKey(
    _ passkey: TestPasskey,
    named name: String = "phone",
    isForwarded: Bool = false,
    destinations: [PermittedDestination]? = nil
) throws -> StoredSSHKey {
    let comment = try #require(SSHKeyComment(name))
    let id = try #require(CredentialID(bytes: [1, 2, 3, 0xFF]))
    let publicKey = try passkey.publicKey
    return try #require(
        StoredSSHKey(
            publicKey,
            credentialID: id,
            comment: comment,
            allowsForwardedMessages: isForwarded,
            destinations: destinations
        )
    )
}

/// Returns destinations of each form.
func someDestinations() throws -> [PermittedDestination] {
    let (one, two) = (try TestServer().hostKey.fingerprint, try TestServer().hostKey.fingerprint)
    return try ["\(one)", "ada@\(two)", "\(one)>\(two)", "\(one)>git@\(two)"].map {
        try #require(PermittedDestination($0))
    }
}

@Suite("Keys and journal on disk")
struct StateTests {
    private func mode(_ path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test("Keys survive a restart, in files for their user alone")
    func keys() async throws {
        try await TestFolder.with { folder in
            let path = folder.path + "/a/b"
            let store = SSHKeyStore(in: try StateFolder(path: path))
            #expect(try store.keys() == [])
            let keys = [
                try storedKey(try TestPasskey(), named: "work laptop"),
                try storedKey(try TestPasskey("ssh-abc.invalid"), named: "a", isForwarded: true),
                try storedKey(try TestPasskey(), named: "b", destinations: try someDestinations()),
                try storedKey(try TestPasskey(), named: "c", isForwarded: true, destinations: try someDestinations()),
            ]
            try store.add(keys)
            #expect(try SSHKeyStore(in: try StateFolder(path: path)).keys() == keys)
            #expect(keys.map(\.agentKey.destinations) == keys.map(\.destinations))
            #expect(try mode(path) == 0o700)
            #expect(try mode(path + "/" + SSHKeyStore.fileName) == 0o600)
        }
    }

    @Test("A key that is added again keeps the stricter limits")
    func stricterLimits() async throws {
        try await TestFolder.with { folder in
            let store = SSHKeyStore(in: try StateFolder(path: folder.path))
            let passkey = try TestPasskey()
            let some = try someDestinations()
            let free = try storedKey(passkey, named: "new", isForwarded: true)
            try store.add([try storedKey(passkey, named: "old", destinations: some)])
            #expect(try store.add([free]).map(\.comment.description) == ["new"])
            #expect(try store.keys() == [try storedKey(passkey, named: "new", destinations: some)])
            // Of destinations, those that both permit; those of this computer if there are none.
            #expect(try store.add([try storedKey(passkey, destinations: Array(some.prefix(1)))]) == [])
            #expect(try store.keys().map(\.destinations) == [Array(some.prefix(1))])
            #expect(try store.add([try storedKey(passkey, destinations: Array(some.suffix(1)))]).count == 1)
            #expect(try store.keys().map(\.destinations) == [Array(some.prefix(1))])
            // A stricter key replaces a free one.
            let other = try TestPasskey()
            try store.add([try storedKey(other, isForwarded: true)])
            #expect(try store.add([try storedKey(other, destinations: some)]) == [])
            #expect(try store.keys().last == (try storedKey(other, destinations: some)))
        }
    }

    @Test("A key is removed by name or fingerprint, an ambiguous name removes nothing")
    func remove() async throws {
        try await TestFolder.with { folder in
            let store = SSHKeyStore(in: try StateFolder(path: folder.path))
            let keys = try ["one", "two", "two"].map { try storedKey(try TestPasskey(), named: $0) }
            try store.add(keys)
            #expect(throws: CommandFailure.self) { try store.remove("three") }
            #expect(throws: CommandFailure.self) { try store.remove("two") }
            #expect(try store.remove("one") == keys[0])
            #expect(try store.remove(keys[2].publicKey.fingerprint.description) == keys[2])
            #expect(try store.keys() == [keys[1]])
        }
    }

    @Test("Destinations are bounded, distinct, and have names that stand in a line")
    func destinations() throws {
        let passkey = try TestPasskey()
        let key = try storedKey(passkey, destinations: try someDestinations())
        let line = key.line
        #expect(StoredSSHKey(line: line[...])?.line == line)
        let many = try (0...StoredSSHKey.maximumDestinations).map { _ in
            PermittedDestination(to: try TestServer().hostKey.fingerprint)
        }
        let spaced = PermittedDestination(as: SSHUserName(Array("a b".utf8)[...]), to: many[0].host)
        for bad in [[], many, [many[0], many[0]], [spaced]] {
            let other = StoredSSHKey(
                key.publicKey,
                credentialID: key.credentialID,
                comment: key.comment,
                destinations: bad
            )
            #expect(other == nil)
        }
        #expect(try storedKey(passkey, destinations: many.dropLast()).destinations?.count == many.count - 1)
        let twice = "forwarded-messages,forwarded-messages"
        for options in ["", ",", "destination=", "destination=SHA256:x", "-,-", twice] {
            let fields = line.split(separator: " ").map(String.init)
            #expect(StoredSSHKey(line: "\(fields[0]) \(fields[1]) \(options) name"[...]) == nil, "\(options)")
        }
    }

    @Test("The longest list that the store accepts can be read")
    func longestList() throws {
        let user = String(repeating: "a", count: PermittedDestination.maximumUserLength)
        let fingerprint = "SHA256:" + String(repeating: "a", count: 43)
        let options = Array(repeating: "destination=\(fingerprint)>\(user)@\(fingerprint)", count: 32)
        let credential = String(repeating: "a", count: (CredentialID.maximumLength * 4 + 2) / 3)
        let application = [UInt8](repeating: 97, count: 253)
        let blob = Base64URL.encode(try TestPasskey().publicKey.encoded + application)
        let name = String(repeating: "a", count: SSHKeyComment.maximumLength)
        let line = "\(blob) \(credential) forwarded-messages,\(options.joined(separator: ",")) \(name)\n"
        #expect(options.count == StoredSSHKey.maximumDestinations)
        #expect(line.utf8.count * SSHKeyList.maximumCount + 100 < SSHKeyList.maximumSize)
    }

    @Test("Restrictions of a key are changed in its place")
    func restrict() async throws {
        try await TestFolder.with { folder in
            let store = SSHKeyStore(in: try StateFolder(path: folder.path))
            let keys = try ["one", "two"].map { try storedKey(try TestPasskey(), named: $0) }
            try store.add(keys)
            let destinations = try someDestinations()
            let changed = try store.restrict("one") {
                $0.restricted(allowsForwardedMessages: true, destinations: destinations)
            }
            #expect(changed.publicKey == keys[0].publicKey && changed.destinations == destinations)
            #expect(changed.restrictions.count == destinations.count + 1)
            #expect(try store.keys() == [changed, keys[1]])
            #expect(throws: CommandFailure.self) { try store.restrict("one") { _ in nil } }
            #expect(throws: CommandFailure.self) { try store.restrict("three") { $0 } }
        }
    }

    @Test("An imported key replaces the same key")
    func replace() async throws {
        try await TestFolder.with { folder in
            let store = SSHKeyStore(in: try StateFolder(path: folder.path))
            let passkey = try TestPasskey()
            try store.add([try storedKey(passkey, named: "old"), try storedKey(try TestPasskey())])
            try store.add([try storedKey(passkey, named: "new")])
            #expect(try store.keys().map { "\($0.comment)" } == ["new", "phone"])
        }
    }

    @Test("Lists that are cut, changed or too long are refused")
    func damage() throws {
        let text = SSHKeyList.text([try storedKey(try TestPasskey()), try storedKey(try TestPasskey("ssh-a.invalid"))])
        let bytes = Array(text.utf8)
        #expect(try SSHKeyList.keys(in: bytes).count == 2)
        let lineEnds = bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }
        for count in 0..<bytes.count where !lineEnds.contains(count) && !lineEnds.contains(count - 1) {
            // A shorter name is a name, too.
            guard let keys = try? SSHKeyList.keys(in: Array(bytes.prefix(count))) else { continue }
            #expect(keys.last?.comment.description.count ?? 9 < 5)
        }
        for other in ["", "# hybrid-key ssh keys 2\n", text + "x\n", text + text.split(separator: "\n")[1] + "\n"] {
            #expect(throws: KeyListError.self) { try SSHKeyList.keys(in: Array(other.utf8)) }
        }
        #expect(throws: KeyListError.self) {
            try SSHKeyList.keys(in: [UInt8](repeating: 0x20, count: SSHKeyList.maximumSize + 1))
        }
    }

    @Test("A folder that others can enter, and a link in place of a file, are refused")
    func permissions() async throws {
        try await TestFolder.with { folder in
            let path = folder.path + "/state"
            let state = try StateFolder(path: path)
            // The link leads to a file that would be accepted in its place.
            try state.replace("other", with: [1])
            symlink("other", path + "/" + SSHKeyStore.fileName)
            #expect(throws: CommandFailure.self) { try state.read(SSHKeyStore.fileName, atMost: 16) }
            chmod(path, 0o750)
            #expect(throws: CommandFailure.self) { try StateFolder(path: path) }
        }
    }

    @Test("A lock that another process keeps ends in a failure")
    func lock() async throws {
        try await TestFolder.with { folder in
            let state = try StateFolder(path: folder.path, patience: .milliseconds(50))
            let other = open(state.file(".lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(other) }
            #expect(flock(other, LOCK_EX) == 0)
            let entry = JournalEntry(time: 1, door: .agent, relyingParty: "a", purpose: "p", result: "r")
            let failure = #expect(throws: CommandFailure.self) { try Journal(in: state).append(entry) }
            #expect(failure?.status == .temporary)
            flock(other, LOCK_UN)
            try Journal(in: state).append(entry)
            #expect(try Journal(in: state).entries() == [entry])
        }
    }

    @Test("The journal keeps the order, its texts stay on one line, other lines are skipped")
    func journal() async throws {
        try await TestFolder.with { folder in
            let state = try StateFolder(path: folder.path)
            let journal = Journal(in: state)
            let entries = ["signed", "a\tb\nc\u{202E}"].map {
                JournalEntry(time: 1_700_000_000, door: .agent, relyingParty: "a.invalid", purpose: "p", result: $0)
            }
            try journal.append(entries[0])
            try state.append(Array("no entry\n".utf8), to: Journal.fileName)
            try journal.append(entries[1])
            #expect(try journal.entries() == entries)
            #expect(entries[1].result == "a?b?c?")
            #expect(entries[0].text == "2023-11-14T22:13:20Z  signed  p  [a.invalid, ssh-agent]")
            #expect(entries[0].json.contains(#""rp_id":"a.invalid""#))
        }
    }

    @Test("The journal drops its older half when it is too long")
    func journalLimit() async throws {
        try await TestFolder.with { folder in
            let state = try StateFolder(path: folder.path)
            let line = JournalEntry(time: 1, door: .agent, relyingParty: "a", purpose: "p", result: "old").line
            let lines = String(repeating: line + "\n", count: Journal.maximumSize / line.utf8.count + 1)
            try state.replace(Journal.fileName, with: Array(lines.utf8))
            let newest = JournalEntry(time: 2, door: .agent, relyingParty: "a", purpose: "p", result: "new")
            try Journal(in: state).append(newest)
            let entries = try Journal(in: state).entries()
            #expect(entries.last == newest)
            #expect(entries.first?.result == "old")
            #expect(try #require(state.stamp(of: Journal.fileName)).size < Journal.maximumSize)
        }
    }
}
