// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import HybridAuthenticator
import HybridCTAP
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridVault

/// A vault and a backup written by another implementation from docs/vault.md alone (Tests/Phone/VaultFormat).
@Suite("The vector vault", .serialized)
struct VectorVaultTests {
    private static let vector = PackageFolder.path + "/Tests/Phone/VaultFormat/vector"
    private static let code = "Y3RZ5-WZMYQ-VFFY7-SZBXZ-SZFYZ-ZYTDG"

    private struct Expected: Decodable {
        struct Passkey: Decodable, Equatable {
            let rp: String
            let user: String
            let id: String
            let key: String
            let order: UInt64
            let signs: String?
        }

        struct Use: Decodable, Equatable {
            let at: UInt64
            let rp: String
            let op: String
            let end: String
        }

        let vault: String
        let passkeys: [Passkey]
        let deleted: Int
        let uses: [Use]

        static func read() throws -> Expected {
            let data = try Data(contentsOf: URL(fileURLWithPath: vector + "/content.json"))
            return try JSONDecoder().decode(Expected.self, from: data)
        }
    }

    private func expect(_ vault: UnlockedVault, _ expected: Expected) async throws {
        let records = try vault.files.records(key: SymmetricKey(data: Vectors.counting(from: 0, 32)))
        let passkeys = try records.passkeys.map { record in
            let passkey = try #require(records.open(record.id))
            return Expected.Passkey(
                rp: passkey.relyingParty.text,
                user: passkey.user.name,
                id: Hex.encode(passkey.id.bytes),
                key: Hex.encode(passkey.privateKey.rawRepresentation),
                order: record.body.order,
                signs: passkey.signedDataKind?.rawValue
            )
        }
        #expect(passkeys.sorted { ($0.rp, $0.user) < ($1.rp, $1.user) } == expected.passkeys)
        #expect(records.all.values.count { $0.isDeleted } == expected.deleted)
        let uses = try await vault.uses()
        #expect(uses.warnings.isEmpty)
        let found = uses.uses.map {
            Expected.Use(at: $0.time, rp: $0.relyingParty.text, op: $0.operation.rawValue, end: $0.outcome.rawValue)
        }
        #expect(found.sorted { $0.at < $1.at } == expected.uses)
        #expect(vault.warnings.isEmpty, "\(vault.warnings)")
    }

    @Test("The vault opens with its passphrase and its recovery code and has the expected contents")
    func vault() async throws {
        let expected = try Expected.read()
        for secret in [PortableSecret.passphrase(try .typed()), .recoveryCode(try .read(Self.code))] {
            let fixture = try VaultFixture()
            try await FileSystem.run("cp", "-r", Self.vector + "/vault", fixture.vault)
            try await FileSystem.run("chmod", "700", fixture.vault)
            let vault = try await fixture.join(secret)
            #expect(vault.id == expected.vault)
            try await expect(try await fixture.open(pin: "654321"), expected)
        }
    }

    @Test("The backup is restored with its recovery code")
    func backup() async throws {
        let fixture = try VaultFixture()
        try await FileSystem.run("cp", Self.vector + "/backup", fixture.root + "/backup")
        let backup = try await VaultBackup.read(fixture.root + "/backup")
        _ = try await VaultFixture.comparing {
            try await backup.restore(
                to: fixture.location,
                secret: .recoveryCode(.read(Self.code)),
                pin: .typed("654321"),
                comparedAs: $0
            )
        }
        try await expect(try await fixture.open(pin: "654321"), .read())
    }

    @Test("Slots, links, histories and backups are written back to the same bytes")
    func bytes() throws {
        for folder in ["slots", "keys"] {
            for name in try FileSystem.names("\(Self.vector)/vault/\(folder)") {
                let bytes = try FileSystem.read("\(Self.vector)/vault/\(folder)/\(name)")
                if folder == "slots" {
                    let slot = try #require(PortableSlot(bytes: bytes))
                    #expect(slot.bytes == bytes && slot.fileName == name)
                } else {
                    let link = try #require(KeyLink(bytes: bytes))
                    #expect(link.bytes == bytes && link.fileName == name)
                }
            }
        }
        let bytes = try FileSystem.read(Self.vector + "/vault/uses/4041424344454647/1")
        #expect(UsageHistoryFile(bytes: bytes)?.bytes == bytes)
    }
}
