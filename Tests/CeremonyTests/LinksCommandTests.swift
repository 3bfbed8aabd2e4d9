// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import HybridPhoneLinks
import HybridPrimitives
import HybridSession
import TestSupport
import Testing

/// The command `hybrid-auth links` with stored links, and without a relay.
@Suite("Commands for linked computers", .timeLimit(.minutes(5)))
struct LinksCommandTests {
    private static func run(_ arguments: [String], in folder: TestFolder) async throws -> RunningProgram.Ending {
        let environment = SpawnedProcess.environment.merging([
            "HOME": folder.path, "XDG_STATE_HOME": folder.path + "/state", "XDG_CONFIG_HOME": folder.path + "/config",
        ]) { $1 }
        return try await RunningProgram("hybrid-auth", ["links"] + arguments, in: folder.path, environment: environment)
            .ending()
    }

    private static func store(in folder: TestFolder) throws -> PhoneLinkStore {
        try PhoneLinkStore(path: folder.path + "/state/hybrid/phone")
    }

    /// Adds a link and returns its ID in hexadecimal digits.
    private static func add(_ label: String, to store: PhoneLinkStore) throws -> String {
        let link = PhoneLink(at: try #require(TunnelDomain(id: 266)))
        try store.add(try #require(StoredPhoneLink(link, label: label, created: 1_700_000_000)))
        return Hex.encode(link.id.bytes)
    }

    @Test("without links there is an empty list")
    func empty() async throws {
        try await TestFolder.with { folder in
            let list = try await Self.run(["list"], in: folder)
            #expect(list.status == 0 && list.output.isEmpty && list.errors.contains("no computer is linked"))
            let json = try await Self.run(["list", "--json"], in: folder)
            #expect(json.status == 0 && json.output == "{\"links\":[]}\n", "\(json)")
            try await Self.run(["rename", "laptop", "desk"], in: folder).expect(66, "there is no such link")
        }
    }

    @Test("a link is renamed and listed, and a damaged one is reported")
    func rename() async throws {
        try await TestFolder.with { folder in
            let store = try Self.store(in: folder)
            let id = try Self.add("laptop", to: store)
            _ = try Self.add("desk", to: store)
            let renamed = try await Self.run(["rename", String(id.prefix(6)), "attic", "--json"], in: folder)
            #expect(renamed.status == 0 && renamed.output.contains(#""name":"attic","state":"active""#), "\(renamed)")
            try TestFile.write("damaged", to: store.path + "/0000000000000000.cbor")
            let list = try await Self.run(["list"], in: folder)
            #expect(list.status == 0 && list.errors.contains("0000000000000000.cbor is damaged; "), "\(list)")
            let lines = list.output.split(separator: "\n")
            #expect(lines.count == 3 && lines.contains { $0.hasSuffix("\"attic\"") }, "\(list)")
            let wrong = try await Self.run(["rename", "attic", "a\nb"], in: folder)
            #expect(wrong.status == 64, "\(wrong)")
        }
    }

    @Test("a link is forgotten at once, even if the relay cannot be informed yet")
    func forget() async throws {
        try await TestFolder.with { folder in
            let store = try Self.store(in: folder)
            _ = try Self.add("laptop", to: store)
            let nowhere = connectTo(CeremonyEnvironment.host, 1)
            let forgotten = try await Self.run(["forget", "laptop"] + nowhere, in: folder)
            #expect(forgotten.status == 0, "\(forgotten)")
            #expect(forgotten.errors.contains("the relay does not know yet"), "\(forgotten)")
            #expect(try store.contents().links.isEmpty)
            let list = try await Self.run(["list", "--json"], in: folder)
            #expect(list.output.contains(#""name":"laptop","state":"to-be-revoked""#), "\(list)")
            #expect(list.output.contains(#""lastUsed":null"#))
        }
    }
}
