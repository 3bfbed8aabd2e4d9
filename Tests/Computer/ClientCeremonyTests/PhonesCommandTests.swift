// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HybridCaBLE
import HybridSession
import TestSupport
import Testing

@testable import HybridClientCeremony

/// A user with linked phones, for whom `hybrid-client` runs without a radio.
private struct LinkedUser {
    let folder: TestFolder
    let test: TestStore

    init(in folder: TestFolder) {
        self.folder = folder
        test = TestStore(in: folder)
    }

    func run(_ arguments: [String]) async throws -> RunningProgram.Ending {
        let variables = [
            "HOME": folder.path, "XDG_STATE_HOME": folder.path + "/state", "XDG_CONFIG_HOME": folder.path + "/config",
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder.path)/none",
        ]
        return try await RunningProgram(
            "hybrid-client",
            arguments,
            in: folder.path,
            environment: SpawnedProcess.environment.merging(variables) { $1 }
        ).ending()
    }

    /// Runs `show-qr --json` and returns the events.
    func showQR(
        _ options: String...,
        publicKey: String = #"{"rpId": "example.com", "challenge": "AAAAAAAAAAAAAAAAAAAAAA"}"#
    ) async throws -> (status: Int32, events: [JSONValue]) {
        let request = try folder.write(#"{"publicKey": \#(publicKey)}"#, to: "request.json")
        let website = ["--request", request, "--origin", "https://example.com"]
        let ending = try await run(["show-qr", "--json"] + website + options)
        let events = try ending.errors.split(separator: "\n").map {
            try JSONDecoder().decode(JSONValue.self, from: Data($0.utf8))
        }
        return (ending.status, events)
    }
}

@Suite("Commands for linked phones", .timeLimit(.minutes(10)))
struct PhonesCommandTests {
    @Test("phones lists, renames and forgets, and prints no secrets")
    func phones() async throws {
        try await TestFolder.with { folder in
            let user = LinkedUser(in: folder)
            let empty = try await user.run(["phones", "list"])
            #expect(empty.status == 0 && empty.output.isEmpty && empty.errors.isEmpty, "\(empty)")
            let link = try TestStore.link("Ada's \u{202E}Pixel")
            try user.test.store.save(link)
            let list = try await user.run(["phones", "list"])
            let line = "\(link.id)  2027-01-15T08:00:00Z  \(link.domain.host)  \"Ada's Pixel\"  linked on 2023-11-14, "
            #expect(list.status == 0 && list.output == line + "verified by the SSH key SHA256:abc\n", "\(list)")
            let json = try await user.run(["phones", "list", "--json"])
            let object = try JSONDecoder().decode(JSONValue.self, from: Data(json.output.utf8))
            #expect(object["id"] == .text(link.id) && object["name"] == "Ada's Pixel")
            #expect(object["linked"] == "2023-11-14T22:13:20Z" && object["relay"] == .text(link.domain.host))
            #expect(
                object["evidence"] == "verified" && object["key"] == "SHA256:abc"
                    && object["link_code"] == .boolean(true)
            )
            let renamed = try await user.run(["phones", "rename", "Ada's Pixel", "Bob's"])
            #expect(renamed.status == 0, "\(renamed)")
            let forgotten = try await user.run(["phones", "forget", "Bob's"])
            #expect(forgotten.status == 0, "\(forgotten)")
            #expect(try user.test.store.links().isEmpty)
        }
    }

    @Test("phones list says how a phone was linked")
    func reasons() async throws {
        try await TestFolder.with { folder in
            let user = LinkedUser(in: folder)
            try user.test.store.save(try TestStore.link(lastUsed: 2, verifyingKey: nil))
            try user.test.store.save(
                try TestStore.link(lastUsed: 1, evidence: .unverified, verifyingKey: nil, showedCode: false)
            )
            let list = try await user.run(["phones", "list"]).output.split(separator: "\n")
            #expect(list.first?.hasSuffix("2023-11-14, verified by a passkey created here") == true, "\(list)")
            #expect(list.last?.hasSuffix("2023-11-14, confirmed by you after the website") == true, "\(list)")
            let json = try await user.run(["phones", "list", "--json"]).output.split(separator: "\n")
            let objects = try json.map { try JSONDecoder().decode(JSONValue.self, from: Data($0.utf8)) }
            #expect(objects.map { $0["evidence"] } == ["verified", "website"])
            #expect(
                objects.map { $0["link_code"] } == [.boolean(true), .boolean(false)]
                    && objects.allSatisfy { $0["key"] == nil }
            )
        }
    }

    @Test("An unknown or ambiguous name is an error; an ID is always unambiguous")
    func names() async throws {
        try await TestFolder.with { folder in
            let user = LinkedUser(in: folder)
            let (one, other) = (try TestStore.link("Pixel"), try TestStore.link("Pixel"))
            try user.test.store.save(one)
            try user.test.store.save(other)
            let unknown = try await user.run(["phones", "forget", "Nokia"])
            #expect(unknown.status == 66 && unknown.lastLine.contains("\"Nokia\""), "\(unknown)")
            let ambiguous = try await user.run(["phones", "forget", "Pixel"])
            #expect(ambiguous.status == 64 && ambiguous.lastLine.contains(one.id), "\(ambiguous)")
            let taken = try await user.run(["phones", "rename", one.id, "Pixel"])
            #expect(taken.status == 64, "\(taken)")
            let forgotten = try await user.run(["phones", "forget", one.id])
            #expect(forgotten.status == 0, "\(forgotten)")
            #expect(try user.test.store.links().map(\.id) == [other.id])
        }
    }

    @Test("A damaged file is named, and the others are listed")
    func damagedFile() async throws {
        try await TestFolder.with { folder in
            let user = LinkedUser(in: folder)
            try user.test.store.save(try TestStore.link())
            try TestFile.write("damaged", to: user.test.path + "/0123456789abcdef.cbor")
            let list = try await user.run(["phones", "list"])
            #expect(list.status == 0 && list.output.contains("\"Pixel 8\""), "\(list)")
            #expect(list.errors.contains("0123456789abcdef.cbor is damaged"), "\(list)")
        }
    }

    @Test("show-qr tries the linked phone first, and then the code, which has the last word")
    func fallback() async throws {
        try await TestFolder.with { folder in
            let user = LinkedUser(in: folder)
            try user.test.store.save(try TestStore.link())
            for options in [[], ["--phone", "Pixel 8"]] {
                let (status, events) = try await options.isEmpty ? user.showQR() : user.showQR("--phone", "Pixel 8")
                let failed = try #require(events.first { $0["state"] == "link-failed" })
                #expect(failed["phone"] == "Pixel 8" && failed["code"] == "no-system-bus", "\(events)")
                #expect(status == 69 && events.last?["code"] == "no-system-bus", "\(events)")
            }
            for option in ["--no-phones", "--link"] {
                let (status, events) = try await user.showQR(option)
                #expect(status == 69 && !events.contains { $0["state"] == "link-failed" }, "\(events)")
            }
            #expect(try user.test.store.links().count == 1)
        }
    }

    @Test("For a new passkey, no linked phone is contacted unless one is named")
    func creation() async throws {
        try await TestFolder.with { folder in
            let user = LinkedUser(in: folder)
            try user.test.store.save(try TestStore.link())
            let creation = """
                {"rp": {"id": "example.com", "name": "x"}, "user": {"id": "AQ", "name": "ada", "displayName": "Ada"}, \
                "challenge": "AAAAAAAAAAAAAAAAAAAAAA", "pubKeyCredParams": [{"type": "public-key", "alg": -7}]}
                """
            let (status, events) = try await user.showQR(publicKey: creation)
            #expect(status == 69 && !events.contains { $0["state"] == "link-failed" }, "\(events)")
            let named = try await user.showQR("--phone", "Pixel 8", publicKey: creation)
            #expect(named.events.contains { $0["state"] == "link-failed" }, "\(named.events)")
        }
    }

    @Test("Links that can't be read do not prevent a sign-in with a code, unless a phone is named")
    func unreadable() async throws {
        try await TestFolder.with { folder in
            let user = LinkedUser(in: folder)
            try user.test.store.save(try TestStore.link())
            chmod(user.test.path, 0o755)
            let (status, events) = try await user.showQR()
            #expect(status == 69 && events.last?["code"] == "no-system-bus", "\(events)")
            let named = try await user.showQR("--phone", "Pixel 8")
            #expect(named.status == 77, "\(named.events)")
            chmod(user.test.path, 0o700)
            let unknown = try await user.showQR("--phone", "Nokia")
            #expect(unknown.status == 66 && unknown.events.last?["code"] == "unknown-phone", "\(unknown.events)")
        }
    }

    @Test("Options that exclude each other are refused")
    func options() async throws {
        try await TestFolder.with { folder in
            let user = LinkedUser(in: folder)
            let website = ["--request", "-", "--origin", "https://example.com"]
            for options in [["--link", "--no-phones"], ["--link", "--phone", "x"], ["--phone", "x", "--no-phones"]] {
                let ending = try await user.run(["show-qr"] + website + options)
                #expect(ending.status == 64, "\(ending)")
            }
        }
    }
}
