// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import TestSupport
import Testing

/// The channel by Bluetooth alone where there is none: a virtual radio must not lead to a real one.
///
/// Over real radios it is tested by Tests/Acceptance/vm.
@Suite("Ceremonies that might go by Bluetooth alone", .keepsEvidence, .serialized)
struct BLEChannelTests {
    private static let toldByClient = "a virtual radio has no Bluetooth channel"
    private static let toldByPhone = "there is no Bluetooth channel (the radio is virtual)"

    @Test("on a virtual radio the code offers the relay alone, and a line says so")
    func notOffered() async throws {
        try await Stage.set { stage in
            let site = RelyingParty(stage)
            let (client, code) = try await stage.startClient(
                try await site.run("create-options"),
                extra: ["--ble-channel"]
            )
            #expect(try QROffer(parsing: code).channels == [.webSocket])
            let phone = try await stage.startAuthenticator(code).ending()
            let ending = try await client.ending()
            #expect(ending.status == 0 && phone.status == 0, "\(ending) \(phone)")
            #expect(ending.errors.contains(Self.toldByClient))
            #expect(!phone.errors.contains("Bluetooth channel"))
            try await site.run("verify-creation", input: ending.output)
        }
    }

    @Test("on a virtual radio a phone that is offered the channel comes through the relay, unless told not to ask")
    func notTaken() async throws {
        try await Stage.set { stage in
            let site = RelyingParty(stage)
            for extra in [[], ["--no-ble-channel"]] {
                let (client, code) = try await stage.startClient(try await site.run("create-options"))
                let plain = try QROffer(parsing: code)
                let offer = QROffer(
                    clientKey: plain.clientKey,
                    secret: plain.secret,
                    created: plain.created ?? 0,
                    hint: plain.hint,
                    channels: [.webSocket, .l2cap]
                )
                let phone = try await stage.startAuthenticator(offer.text, extra: extra).ending()
                let ending = try await client.ending()
                #expect(ending.status == 0 && phone.status == 0, "\(ending) \(phone)")
                #expect(phone.errors.contains(Self.toldByPhone) == extra.isEmpty, "\(phone)")
                try await site.run("verify-creation", input: ending.output)
            }
        }
    }

    @Test("the offer is asked for by flag, variable or file, and wrong values are told")
    func settings() async throws {
        try await Stage.set { stage in
            let options = #"{"publicKey": {"challenge": "AAAAAAAAAAAAAAAAAAAAAA"}}"#
            func isOffered(_ extra: [String], _ variables: [String: String]) async throws -> Bool {
                let (client, _) = try await stage.startClient(options, extra: extra, variables: variables)
                client.send(SIGINT)
                return try await client.ending().errors.contains(Self.toldByClient)
            }
            #expect(try await !isOffered([], [:]))
            #expect(try await isOffered([], ["HYBRID_BLE_CHANNEL": "yes"]))
            #expect(try await !isOffered(["--no-ble-channel"], ["HYBRID_BLE_CHANNEL": "yes"]))
            let folder = stage.folder + "/settings"
            try FileManager.default.createDirectory(atPath: folder + "/hybrid", withIntermediateDirectories: true)
            let file = folder + "/hybrid/client.env"
            try "HYBRID_BLE_CHANNEL=on\n".write(toFile: file, atomically: true, encoding: .utf8)
            #expect(try await isOffered([], ["XDG_CONFIG_HOME": folder]))
            #expect(try await !isOffered([], ["XDG_CONFIG_HOME": folder, "HYBRID_BLE_CHANNEL": "no"]))

            for (content, variables) in [
                ("HYBRID_BLE_CHANEL=yes\n", [:]), ("", ["HYBRID_BLE_CHANNEL": "perhaps"]),
            ] as [(String, [String: String])] {
                try content.write(toFile: file, atomically: true, encoding: .utf8)
                let client = try RunningProgram(
                    "hybrid-client",
                    ["show-qr", "--request", "-", "--origin", RelyingParty.origin],
                    in: stage.folder,
                    environment: stage.environment(variables.merging(["XDG_CONFIG_HOME": folder]) { $1 }),
                    input: options
                )
                let ending = try await client.ending()
                #expect(ending.status == 78 && ending.lastLine.contains("HYBRID_BLE_CHAN"), "\(ending)")
            }
        }
    }
}
