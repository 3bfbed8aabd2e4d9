// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridPrimitives
import Testing

@testable import HybridVaultAgent

@Suite("The messages of the vault agent")
struct VaultAgentMessageTests {
    private let vault: VaultID
    private let key: StoreKey

    init() throws {
        vault = try #require(VaultID("000102030405060708090a0b0c0d0e0f"))
        key = try #require(Array(UInt8(100)..<132).withUnsafeBytes { StoreKey(bytes: $0) })
    }

    /// Type and body of a frame, whose length is checked.
    private func message(_ frame: SecretBytes) -> [UInt8] {
        let bytes = withExtendedLifetime(frame) { Array($0.memory) }
        #expect(Int(bytes[0]) << 8 | Int(bytes[1]) == bytes.count - 2)
        return Array(bytes.dropFirst(2))
    }

    private func hold(_ fingers: [String]) -> [UInt8] {
        let frame = key.withUnsafeBytes { VaultAgentRequest.holdFrame(vault, key: $0, isTest: true, fingers: fingers) }
        return message(frame)
    }

    private func request(_ bytes: [UInt8]) throws -> VaultAgentRequest {
        try bytes.withUnsafeBytes { bytes in try VaultAgentRequest(bytes) }
    }

    @Test("A key and the fingers survive a round trip")
    func roundTrip() throws {
        let bytes = hold(["left-thumb", "right-thumb"])
        guard case .hold(let id, let held, let isTest, let fingers) = try request(bytes) else {
            Issue.record("another request")
            return
        }
        #expect(id == vault && isTest && fingers == ["left-thumb", "right-thumb"])
        #expect(held.withUnsafeBytes { Array($0) } == Array(UInt8(100)..<132))
        guard case .release(vault) = try request(message(VaultAgentRequest.frame(.release, vault))) else {
            Issue.record("another request")
            return
        }
    }

    @Test("Truncated and extended requests are refused")
    func truncated() throws {
        for bytes in [hold(["left-thumb"]), message(VaultAgentRequest.frame(.forget, vault))] {
            for length in 0..<bytes.count {
                #expect(throws: FingerprintFailure.malformed) { try request(Array(bytes.prefix(length))) }
            }
            #expect(throws: FingerprintFailure.malformed) { try request(bytes + [0]) }
        }
    }

    @Test(
        "Lists of fingers are sorted, without duplicates, and bounded",
        arguments: [[], ["b", "a"], ["a", "a"], [""], [String(repeating: "a", count: 65)]]
    )
    func badFingers(fingers: [String]) {
        #expect(throws: FingerprintFailure.malformed) { try request(hold(fingers)) }
    }

    @Test("Replies survive a round trip, and damaged ones are refused")
    func replies() throws {
        let status = VaultAgentStatus(held: [HeldVault(vault: vault, secondsLeft: 43_199)], misses: 2)
        let replies: [VaultAgentReply] = [
            .done, .key(key), .progress(.waiting), .progress(.miss), .status(status), .failed(.suspended),
        ]
        for reply in replies {
            let bytes = message(reply.frame)
            let read = try #require(bytes.withUnsafeBytes { VaultAgentReply($0) })
            #expect(message(read.frame) == bytes)
            for length in 0..<bytes.count {
                #expect(Array(bytes.prefix(length)).withUnsafeBytes { VaultAgentReply($0) } == nil)
            }
            #expect((bytes + [0]).withUnsafeBytes { VaultAgentReply($0) } == nil)
        }
    }
}
