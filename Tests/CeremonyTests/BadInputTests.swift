// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import HybridCBOR
import HybridCaBLE
import HybridVirtualBlueZ
import TestSupport
import Testing

/// Invalid input, missing services and damaged files lead to one clear line and the documented exit status, and lose
/// nothing.
@Suite("Invalid input and missing services", .keepsEvidence, .serialized)
struct BadInputTests {
    private static var code: String { QROffer.random().text }

    @Test("a text that is not a code of this protocol")
    func codes() async throws {
        try await CeremonyEnvironment.run { environment in
            let good = Self.code
            for (text, words) in [
                ("https://example.com", "does not begin with FIDO:/"),
                ("", "no text on standard input"),
                ("FIDO:/", "damaged"),
                (String(good.dropLast()), "damaged"),
                (good + String(repeating: "1", count: 2000), "damaged"),
                ("FIDO:/001", "scan it again"),
            ] {
                let ending = try await environment.startAuthenticator(text).ending()
                ending.expect(65, words)
            }
            #expect(
                !FileManager.default.fileExists(atPath: environment.vault),
                "no vault is created for an invalid code"
            )
        }
    }

    @Test("codes that the authenticator cannot serve are rejected before the vault or the radio is used")
    func unsupportedOffers() async throws {
        try await CeremonyEnvironment.run { environment in
            let key = P256.KeyAgreement.PrivateKey(compactRepresentable: false).publicKey
            let credential = QROffer.random(key: key, hint: .presentCredential)
            try await environment.startAuthenticator(credential.text).ending().expect(65, "digital credential")

            // Without key 2 the client knows no assigned tunnel domains, so it would not find an authenticator there.
            let knowsNone = Self.text([
                0: .bytes(Array(key.compressedRepresentation)), 1: .bytes(Array(repeating: 7, count: 16)),
            ])
            let vendors = try await environment.startAuthenticator(knowsNone, domain: 0).ending()
            vendors.expect(64, "does not know the relay cable.ua5v.com")
            #expect(!FileManager.default.fileExists(atPath: environment.vault))
        }
    }

    /// Returns the text of a QR code for any map: 7 bytes at a time, little-endian, as 17 digits.
    private static func text(_ map: CBORMap) -> String {
        let bytes = CBOREncoder.encode(map)
        let widths = [0, 3, 5, 8, 10, 13, 15, 17]
        return stride(from: 0, to: bytes.count, by: 7).reduce("FIDO:/") { text, start in
            let chunk = bytes[start..<min(start + 7, bytes.count)]
            let digits = String(chunk.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
            return text + String(repeating: "0", count: widths[chunk.count] - digits.count) + digits
        }
    }

    @Test("a response that cannot be written to standard output is a failure")
    func fullOutput() async throws {
        try await CeremonyEnvironment.run { environment in
            let client = try environment.showQR(try await environment.site("create-options"), output: "/dev/full")
            let phone = try environment.startAuthenticator(try await client.line { $0.hasPrefix("FIDO:/") })
            try await client.ending().expect(74, "standard output")
            #expect(try await phone.ending().status == 0, "the phone sent its response")
        }
    }

    @Test("a relay that reloads its configuration continues to work")
    func reload() async throws {
        try await CeremonyEnvironment.run { environment in
            environment.relay.program.send(SIGHUP)
            try await environment.registerPasskey()
        }
    }

    @Test("a request file that does not exist")
    func missingRequest() async throws {
        try await CeremonyEnvironment.run { environment in
            let missing = try environment.start(
                "hybrid-client",
                ["show-qr", "--request", environment.folder + "/none.json", "--origin", CeremonyEnvironment.origin]
            )
            try await missing.ending().expect(66, "can't be read")
        }
    }

    @Test("a relay that is down, not trusted, or not configured")
    func relays() async throws {
        try await CeremonyEnvironment.run { environment in
            try await environment.registerPasskey()
            let before = environment.vaultContents()
            let here = "127.0.0.1:\(environment.relay.port)"

            let closed = [
                "--cacert", "\(environment.folder)/ca.pem", "--connect-to",
                "\(CeremonyEnvironment.host):443:127.0.0.1:1",
            ]
            try await environment.startAuthenticator(Self.code, network: closed).ending().expect(
                69,
                "the relay \(CeremonyEnvironment.host) (by --connect-to 127.0.0.1:1) refused the connection"
            )
            let nowhere = ["--connect-to", "\(CeremonyEnvironment.host):443:nowhere.invalid:"]
            try await environment.startAuthenticator(
                Self.code,
                network: nowhere,
                variables: CeremonyEnvironment.briefLookups
            )
            .ending().expect(
                69,
                "the relay \(CeremonyEnvironment.host) (by --connect-to nowhere.invalid:443) has no address"
            )

            let untrusted = ["--connect-to", "\(CeremonyEnvironment.host):443:\(here)"]
            try await environment.startAuthenticator(Self.code, network: untrusted).ending().expect(
                69,
                "the certificate for \(CeremonyEnvironment.host) (by --connect-to \(here)) is not trusted"
            )

            let noFile = [
                "--cacert", "\(environment.folder)/none.pem", "--connect-to", "\(CeremonyEnvironment.host):443:\(here)",
            ]
            try await environment.startAuthenticator(Self.code, network: noFile).ending().expect(66, "certificates")

            // The certificate is for another host.
            let other = try #require(TunnelDomain(id: 267)).host
            let foreign = connectTo(other, environment.relay.port)
            try await environment.startAuthenticator(Self.code, domain: 267, network: environment.trust + foreign)
                .ending().expect(69, "not for \(other) (by --connect-to \(here))")

            let unnamed = try environment.start(
                "hybrid-auth",
                ["scan", "-", "--vault", environment.vault],
                input: Self.code
            )
            try await unnamed.ending().expect(64, "--tunnel-domain")
            #expect(environment.vaultContents() == before)
            try await environment.untilNoAdverts()
        }
    }

    @Test("a relay that stops while the phone waits, and a client that never connects")
    func expired() async throws {
        try await CeremonyEnvironment.run { environment in
            try await environment.registerPasskey()
            let lonely = try environment.startAuthenticator(Self.code, extra: ["--timeout", "1"])
            try await lonely.ending().expect(75, "did not find this one")
            let waiting = try environment.startAuthenticator(Self.code)
            _ = try await waiting.line { $0.contains("over Bluetooth") }
            // SIGTERM would let the tunnel finish.
            environment.relay.program.send(SIGINT)
            try await waiting.ending().expect(75, "tunnel was closed")
            try await environment.untilNoAdverts()
        }
    }

    @Test("a vault that is damaged, incomplete, missing, or accessible to other users")
    func vaults() async throws {
        try await CeremonyEnvironment.run { environment in
            try await environment.registerPasskey()
            let files = FileManager.default
            let options = try await environment.site("request-options")

            try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: environment.vault)
            try await environment.startAuthenticator(Self.code).ending().expect(77, "chmod 700")
            let asked = environment.pinentryLog.utf8.count
            try await environment.startAuthenticator(Self.code, link: true).ending().expect(77, "chmod 700")
            let shown = String(environment.pinentryLog.dropFirst(asked))
            #expect(
                shown.contains("CONFIRM --one-button") && shown.contains("chmod 700"),
                "standard error of a link handler is not visible"
            )
            try files.setAttributes([.posixPermissions: 0o700], ofItemAtPath: environment.vault)

            let identity = environment.vault + "/vault.json"
            try files.moveItem(atPath: identity, toPath: environment.folder + "/aside")
            try await environment.startAuthenticator(Self.code).ending().expect(66, "vault.json")
            try files.moveItem(atPath: environment.folder + "/aside", toPath: identity)

            try files.moveItem(atPath: environment.vault, toPath: environment.folder + "/elsewhere")
            try await environment.startAuthenticator(Self.code).ending().expect(66, "is gone")
            #expect(!files.fileExists(atPath: environment.vault), "no new vault replaces a lost one")
            try files.moveItem(atPath: environment.folder + "/elsewhere", toPath: environment.vault)

            let record = try #require(
                environment.vaultContents().first { $0.key.hasPrefix("records/") && !$0.value.isEmpty }
            )
            let path = environment.vault + "/" + record.key
            var damaged = record.value
            damaged[damaged.count / 2] ^= 1
            try damaged.write(to: URL(fileURLWithPath: path))
            let refused = try await environment.runCeremony(options)
            #expect(
                refused.authenticator.status == 77 && refused.authenticator.lastLine.contains("damaged"),
                "\(refused)"
            )
            #expect(refused.client.status == 77, "\(refused.client)")
            try record.value.write(to: URL(fileURLWithPath: path))

            let healed = try await environment.runCeremony(options)
            healed.expectSuccess()
            try await environment.untilNoAdverts()
        }
    }

    @Test("a radio that is missing, off, forbidden, or without free slots")
    func radios() async throws {
        try await CeremonyEnvironment.run { environment in
            try await environment.registerPasskey()
            let before = environment.vaultContents()
            let adapters = ["hci0", "hci1"]
            func scan(_ variables: [String: String] = [:], _ extra: [String] = []) async throws -> RunningProgram.Ending
            {
                try await environment.startAuthenticator(Self.code, extra: extra, variables: variables).ending()
            }
            let noBus = ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(environment.folder)/none"]
            try await scan(noBus).expect(69, "system bus")
            try await scan([:], ["--adapter", "hci9"]).expect(69, "hci9")

            for adapter in adapters { try await environment.air.setPowered(adapter, false) }
            try await scan().expect(69, "rfkill unblock bluetooth")
            for adapter in adapters { try await environment.air.setPowered(adapter, true) }

            for adapter in adapters { try await environment.air.setSlots(adapter, 0) }
            try await scan().expect(69, "advertising slot")
            for adapter in adapters { try await environment.air.setSlots(adapter, 5) }

            try await environment.air.failNext(
                "RegisterAdvertisement",
                name: "org.freedesktop.DBus.Error.AccessDenied",
                message: "rejected by policy"
            )
            try await scan().expect(69, "is not permitted to use Bluetooth")

            try await environment.air.stopService()
            try await scan().expect(69, "Bluetooth service is not running")
            try await environment.air.startService()

            #expect(environment.vaultContents() == before)
            try await environment.untilNoAdverts()
        }
    }
}
