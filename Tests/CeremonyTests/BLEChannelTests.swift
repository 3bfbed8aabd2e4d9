// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridCaBLE
import TestSupport
import Testing

/// The L2CAP channel on a virtual radio, which must not use real Bluetooth sockets.
///
/// Tests/Acceptance/vm tests it on real radios.
@Suite("The Bluetooth channel on a virtual radio", .keepsEvidence, .serialized)
struct BLEChannelTests {
    private static let clientNotice = "a virtual radio has no Bluetooth channel"
    private static let authenticatorNotice = "there is no Bluetooth channel (the radio is virtual)"

    @Test("the code offers the relay only, and the client says so")
    func notOffered() async throws {
        try await CeremonyEnvironment.run { environment in
            let (client, code) = try await environment.startClient(
                try await environment.site("create-options"),
                extra: ["--ble-channel"]
            )
            #expect(try QROffer(parsing: code).channels == [.webSocket])
            let phone = try await environment.startAuthenticator(code).ending()
            let ending = try await client.ending()
            #expect(ending.status == 0 && phone.status == 0, "\(ending) \(phone)")
            #expect(ending.errors.contains(Self.clientNotice))
            #expect(!phone.errors.contains("Bluetooth channel"))
            try await environment.site("verify-creation", input: ending.output)
        }
    }

    @Test("an authenticator that is offered the channel uses the relay, and says so unless the channel is disabled")
    func notTaken() async throws {
        try await CeremonyEnvironment.run { environment in
            for extra in [[], ["--no-ble-channel"]] {
                let (client, code) = try await environment.startClient(try await environment.site("create-options"))
                let plain = try QROffer(parsing: code)
                let offer = QROffer(
                    clientKey: plain.clientKey,
                    secret: plain.secret,
                    created: plain.created ?? 0,
                    hint: plain.hint,
                    channels: [.webSocket, .l2cap]
                )
                let phone = try await environment.startAuthenticator(offer.text, extra: extra).ending()
                let ending = try await client.ending()
                #expect(ending.status == 0 && phone.status == 0, "\(ending) \(phone)")
                #expect(phone.errors.contains(Self.authenticatorNotice) == extra.isEmpty, "\(phone)")
                try await environment.site("verify-creation", input: ending.output)
            }
        }
    }

    @Test("the offer is enabled by flag, variable or file, and invalid values are reported")
    func settings() async throws {
        try await CeremonyEnvironment.run { environment in
            let options = #"{"publicKey": {"challenge": "AAAAAAAAAAAAAAAAAAAAAA"}}"#
            func isOffered(_ extra: [String], _ variables: [String: String]) async throws -> Bool {
                let (client, _) = try await environment.startClient(options, extra: extra, variables: variables)
                client.send(SIGINT)
                return try await client.ending().errors.contains(Self.clientNotice)
            }
            #expect(try await !isOffered([], [:]))
            #expect(try await isOffered([], ["HYBRID_BLE_CHANNEL": "yes"]))
            #expect(try await !isOffered(["--no-ble-channel"], ["HYBRID_BLE_CHANNEL": "yes"]))
            try environment.configure("HYBRID_BLE_CHANNEL=on\n")
            #expect(try await isOffered([], [:]))
            #expect(try await !isOffered([], ["HYBRID_BLE_CHANNEL": "no"]))

            for (content, variables) in [
                ("HYBRID_BLE_CHANEL=yes\n", [:]), ("", ["HYBRID_BLE_CHANNEL": "perhaps"]),
            ] as [(String, [String: String])] {
                try environment.configure(content)
                let ending = try await environment.showQR(options, variables: variables).ending()
                #expect(ending.status == 78 && ending.lastLine.contains("HYBRID_BLE_CHAN"), "\(ending)")
            }
        }
    }
}
