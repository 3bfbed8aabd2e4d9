// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import HybridCBOR
import HybridCaBLE
import HybridVirtualBlueZ
import TestSupport
import Testing

/// Wrong input, missing services, damaged files: one clear line, the documented exit code, nothing lost.
@Suite("Bad input", .keepsEvidence, .serialized)
struct BadInputTests {
    private static let site = #"{"rpId": "example.com", "challenge": "AAAAAAAAAAAAAAAAAAAAAA"}"#

    private static func code() -> String {
        var generator = SystemRandomNumberGenerator()
        return QROffer(
            clientKey: P256.KeyAgreement.PrivateKey(compactRepresentable: false).publicKey,
            secret: QRSecret(using: &generator),
            created: 1_700_000_000,
            hint: .getAssertion
        ).text
    }

    /// The one line that a failing program must end with.
    private static func expect(
        _ ending: RunningProgram.Ending,
        _ status: Int32,
        _ words: String,
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(ending.status == status, "\(ending)", sourceLocation: location)
        #expect(ending.lastLine.contains(words), "\(ending)", sourceLocation: location)
        #expect(ending.lastLine.hasPrefix("hybrid-"), "\(ending)", sourceLocation: location)
        #expect(ending.output.isEmpty, "\(ending)", sourceLocation: location)
    }

    @Test("texts that are no code of ours")
    func codes() async throws {
        try await Stage.set { stage in
            let good = Self.code()
            for (text, words) in [
                ("https://example.com", "does not begin with FIDO:/"),
                ("", "no text on standard input"),
                ("FIDO:/", "damaged"),
                (String(good.dropLast()), "damaged"),
                (good + String(repeating: "1", count: 2000), "damaged"),
                ("FIDO:/001", "scan it again"),
            ] {
                let ending = try await stage.startAuthenticator(text).ending()
                Self.expect(ending, 65, words)
            }
            #expect(!FileManager.default.fileExists(atPath: stage.vault), "no vault is made for a bad code")
        }
    }

    @Test("codes that ask for what this phone can't give, found out before the vault or the radio is touched")
    func foreignOffers() async throws {
        try await Stage.set { stage in
            var generator = SystemRandomNumberGenerator()
            let key = P256.KeyAgreement.PrivateKey(compactRepresentable: false).publicKey
            let credential = QROffer(
                clientKey: key,
                secret: QRSecret(using: &generator),
                created: 1_700_000_000,
                hint: .presentCredential
            )
            Self.expect(try await stage.startAuthenticator(credential.text).ending(), 65, "digital credential")

            // A client without key 2 knows no vendor's relay, so a phone that used one would never be found.
            let knowsNone = Self.text([
                0: .bytes(Array(key.compressedRepresentation)), 1: .bytes(Array(repeating: 7, count: 16)),
            ])
            let vendors = try await stage.startAuthenticator(knowsNone, domain: 0).ending()
            Self.expect(vendors, 64, "does not know the relay cable.ua5v.com")
            #expect(!FileManager.default.fileExists(atPath: stage.vault))
        }
    }

    /// The text of a QR with any map: 7 bytes at a time, little-endian, as 17 digits.
    private static func text(_ map: CBORMap) -> String {
        let bytes = CBOREncoder.encode(map)
        let widths = [0, 3, 5, 8, 10, 13, 15, 17]
        return stride(from: 0, to: bytes.count, by: 7).reduce("FIDO:/") { text, start in
            let chunk = bytes[start..<min(start + 7, bytes.count)]
            let digits = String(chunk.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
            return text + String(repeating: "0", count: widths[chunk.count] - digits.count) + digits
        }
    }

    @Test("an answer that can't be written to standard output is not taken for success")
    func fullOutput() async throws {
        try await Stage.set { stage in
            let site = RelyingParty(stage)
            let client = try RunningProgram(
                "hybrid-client",
                ["show-qr", "--request", "-", "--origin", RelyingParty.origin, "--print-url"] + stage.network,
                in: stage.folder,
                environment: stage.environment(),
                input: try await site.run("create-options"),
                output: "/dev/full"
            )
            let phone = try stage.startAuthenticator(try await client.line { $0.hasPrefix("FIDO:/") })
            Self.expect(try await client.ending(), 74, "standard output")
            #expect(try await phone.ending().status == 0, "the phone has done its part")
        }
    }

    @Test("a relay that is told to reload goes on working")
    func hangUp() async throws {
        try await Stage.set { stage in
            stage.relay.send(SIGHUP)
            try await stage.register(RelyingParty(stage))
        }
    }

    @Test("requests that are missing, wrong, or not the origin's")
    func requests() async throws {
        try await Stage.set { stage in
            let cases: [(String, String, Int32, String)] = [
                ("not json", "https://example.com", 65, "request"),
                (#"{"publicKey": {"rpId": "example.com"}}"#, "https://example.com", 65, "publicKey.challenge"),
                (#"{"publicKey": {"challenge": "a b"}}"#, "https://example.com", 65, "publicKey.challenge"),
                (#"{"publicKey": \#(Self.site)}"#, "https://example.org", 65, "example.com"),
                (
                    #"{"publicKey": {"rpId": "co.uk", "challenge": "AAAAAAAAAAAAAAAAAAAAAA"}}"#, "https://shop.co.uk",
                    65, "co.uk"
                ),
                (#"{"publicKey": \#(Self.site)}"#, "http://example.com", 64, "https"),
                (#"{"publicKey": \#(Self.site)}"#, "https://192.0.2.1", 64, "IP address"),
            ]
            for (request, origin, status, words) in cases {
                let client = try RunningProgram(
                    "hybrid-client",
                    ["show-qr", "--request", "-", "--origin", origin] + stage.network,
                    in: stage.folder,
                    environment: stage.environment(),
                    input: request
                )
                Self.expect(try await client.ending(), status, words)
            }
            let missing = try RunningProgram(
                "hybrid-client",
                ["show-qr", "--request", stage.folder + "/none.json", "--origin", "https://example.com"],
                in: stage.folder,
                environment: stage.environment()
            )
            Self.expect(try await missing.ending(), 66, "can't be read")
        }
    }

    @Test("a relay that is down, not trusted, or not named")
    func relays() async throws {
        try await Stage.set { stage in
            let site = RelyingParty(stage)
            try await stage.register(site)
            let before = stage.snapshot(of: stage.vault)
            let here = "127.0.0.1:\(stage.relayPort)"

            let closed = ["--cacert", "\(stage.folder)/ca.pem", "--connect-to", "\(Stage.host):443:127.0.0.1:1"]
            Self.expect(
                try await stage.startAuthenticator(Self.code(), network: closed).ending(),
                69,
                "nothing listens at the relay \(Stage.host) (by --connect-to 127.0.0.1:1)"
            )
            let nowhere = ["--connect-to", "\(Stage.host):443:nowhere.invalid:"]
            Self.expect(
                try await stage.startAuthenticator(Self.code(), network: nowhere, variables: Stage.briefLookups)
                    .ending(),
                69,
                "the relay \(Stage.host) (by --connect-to nowhere.invalid:443) has no address"
            )

            let untrusted = ["--connect-to", "\(Stage.host):443:\(here)"]
            Self.expect(
                try await stage.startAuthenticator(Self.code(), network: untrusted).ending(),
                69,
                "the certificate for \(Stage.host) (by --connect-to \(here)) is not trusted"
            )

            let noFile = ["--cacert", "\(stage.folder)/none.pem", "--connect-to", "\(Stage.host):443:\(here)"]
            Self.expect(try await stage.startAuthenticator(Self.code(), network: noFile).ending(), 66, "certificates")

            // A name whose certificate is for another host: the domain is asked for, the relay is the test's.
            let other = try #require(TunnelDomain(id: 267)).host
            let foreign = try RunningProgram(
                "hybrid-auth",
                [
                    "scan", "-", "--vault", stage.vault, "--tunnel-domain", "267", "--pinentry",
                    Person.program(in: stage.folder), "--cacert", "\(stage.folder)/ca.pem", "--connect-to",
                    "\(other):443:\(here)",
                ],
                in: stage.folder,
                environment: stage.environment(Person().variables(stage)),
                input: Self.code()
            )
            Self.expect(try await foreign.ending(), 69, "not for \(other) (by --connect-to \(here))")

            let unnamed = try RunningProgram(
                "hybrid-auth",
                ["scan", "-", "--vault", stage.vault],
                in: stage.folder,
                environment: stage.environment(),
                input: Self.code()
            )
            Self.expect(try await unnamed.ending(), 64, "--tunnel-domain")
            #expect(stage.snapshot(of: stage.vault) == before)
            try await stage.expectSilence()
        }
    }

    @Test("a relay that stops while the phone waits, and a desktop that never comes")
    func expired() async throws {
        try await Stage.set { stage in
            try await stage.register(RelyingParty(stage))
            let lonely = try stage.startAuthenticator(Self.code(), extra: ["--timeout", "1"])
            Self.expect(try await lonely.ending(), 75, "did not hear this one")
            let waiting = try stage.startAuthenticator(Self.code())
            _ = try await waiting.line { $0.contains("by Bluetooth") }
            // SIGTERM would leave the phone its time.
            stage.relay.send(SIGINT)
            Self.expect(try await waiting.ending(), 75, "tunnel ended")
            try await stage.expectSilence()
        }
    }

    @Test("a vault that is damaged, open to others, half there, or gone")
    func vaults() async throws {
        try await Stage.set { stage in
            let site = RelyingParty(stage)
            try await stage.register(site)
            let files = FileManager.default
            let options = try await site.run("request-options")

            try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: stage.vault)
            Self.expect(try await stage.startAuthenticator(Self.code()).ending(), 77, "chmod 700")
            let asked = Person.log(stage).utf8.count
            Self.expect(try await stage.startAuthenticator(Self.code(), link: true).ending(), 77, "chmod 700")
            let shown = String(Person.log(stage).dropFirst(asked))
            #expect(shown.contains("CONFIRM --one-button") && shown.contains("chmod 700"), "nobody sees standard error")
            try files.setAttributes([.posixPermissions: 0o700], ofItemAtPath: stage.vault)

            let identity = stage.vault + "/vault.json"
            try files.moveItem(atPath: identity, toPath: stage.folder + "/aside")
            Self.expect(try await stage.startAuthenticator(Self.code()).ending(), 66, "vault.json")
            try files.moveItem(atPath: stage.folder + "/aside", toPath: identity)

            try files.moveItem(atPath: stage.vault, toPath: stage.folder + "/elsewhere")
            Self.expect(try await stage.startAuthenticator(Self.code()).ending(), 66, "is gone")
            #expect(!files.fileExists(atPath: stage.vault), "no new vault takes the place of a lost one")
            try files.moveItem(atPath: stage.folder + "/elsewhere", toPath: stage.vault)

            let record = try #require(
                stage.snapshot(of: stage.vault).first { $0.key.hasPrefix("records/") && !$0.value.isEmpty }
            )
            let path = stage.vault + "/" + record.key
            var damaged = record.value
            damaged[damaged.count / 2] ^= 1
            try damaged.write(to: URL(fileURLWithPath: path))
            let refused = try await stage.perform(options)
            #expect(
                refused.authenticator.status == 77 && refused.authenticator.lastLine.contains("damaged"),
                "\(refused)"
            )
            #expect(refused.client.status == 77, "\(refused.client)")
            try record.value.write(to: URL(fileURLWithPath: path))

            let healed = try await stage.perform(options)
            #expect(healed.client.status == 0 && healed.authenticator.status == 0, "\(healed)")
            try await stage.expectSilence()
        }
    }

    @Test("a radio that is not there, off, forbidden, or full")
    func radios() async throws {
        try await Stage.set { stage in
            try await stage.register(RelyingParty(stage))
            let before = stage.snapshot(of: stage.vault)
            func scan(_ variables: [String: String] = [:], _ extra: [String] = []) async throws -> RunningProgram.Ending
            {
                try await stage.startAuthenticator(Self.code(), extra: extra, variables: variables).ending()
            }
            let noBus = ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(stage.folder)/none"]
            Self.expect(try await scan(noBus), 69, "system bus")
            Self.expect(try await scan([:], ["--adapter", "hci9"]), 69, "hci9")

            for adapter in ["hci0", "hci1"] { try await stage.air.setPowered(adapter, false) }
            Self.expect(try await scan(), 69, "rfkill unblock bluetooth")
            for adapter in ["hci0", "hci1"] { try await stage.air.setPowered(adapter, true) }

            for adapter in ["hci0", "hci1"] { try await stage.air.setSlots(adapter, 0) }
            Self.expect(try await scan(), 69, "advertising slot")
            for adapter in ["hci0", "hci1"] { try await stage.air.setSlots(adapter, 5) }

            try await stage.air.failNext(
                "RegisterAdvertisement",
                name: "org.freedesktop.DBus.Error.AccessDenied",
                message: "rejected by policy"
            )
            Self.expect(try await scan(), 69, "may not use Bluetooth")

            try await stage.air.vanish()
            Self.expect(try await scan(), 69, "Bluetooth service is not running")
            try await stage.air.comeBack()

            #expect(stage.snapshot(of: stage.vault) == before)
            try await stage.expectSilence()
        }
    }
}
