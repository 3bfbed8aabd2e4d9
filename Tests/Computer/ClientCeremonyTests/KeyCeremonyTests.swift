// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCTAP
import HybridKeyService
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridClientCeremony

@Suite("Linked phones in ceremonies of hybrid-key", .timeLimit(.minutes(5)))
struct KeyCeremonyTests {
    /// A command line that keeps its own input open after a request: the end of the input cancels a ceremony.
    private static let script = #"mkfifo "$1" && exec 0<>"$1" && cat "$2" >&0 && shift 2 && exec "$@""#

    @Test(
        "A request of ssh contacts the phone at once, one of a website only offers that",
        arguments: [true, false]
    )
    func consent(isForGuest: Bool) async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            try test.store.save(try TestStore.link())
            let command = GetAssertionRequest(
                relyingPartyID: try #require(RelyingPartyID("example.com")),
                clientDataHash: try #require(ClientDataHash(bytes: [UInt8](repeating: 7, count: 32))),
                allowList: [],
                userVerification: true
            )
            let request = CeremonyRequest(.sign(command), purpose: "p", seconds: 30, isForGuest: isForGuest)
            let path = folder.path + "/request"
            try Data(request.encoded).write(to: URL(fileURLWithPath: path))
            let program = try RunningProgram(
                "/bin/sh",
                ["-c", Self.script, "sh", folder.path + "/input", path, BuildFolder.program("hybrid-key")]
                    + ["ceremony", "--display", "json"],
                in: folder.path,
                environment: [
                    "PATH": "/usr/bin:/bin", "HOME": folder.path, "XDG_STATE_HOME": folder.path + "/state",
                    // Without Bluetooth, each attempt ends at once.
                    "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder.path)/none",
                ]
            )
            let ending = try await program.ending()
            #expect(ending.status != 0 && ending.errors.contains(#""event":"error""#), "\(ending)")
            #expect(ending.errors.contains(#""event":"linked-phone""#) == isForGuest, "\(ending)")
            #expect(ending.errors.contains(#""state":"link-failed""#) != isForGuest, "\(ending)")
        }
    }
}
