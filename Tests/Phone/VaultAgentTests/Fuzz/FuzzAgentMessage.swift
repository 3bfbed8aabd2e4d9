// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridPrimitives
import TestSupport

@testable import HybridVaultAgent

/// Fuzzes the vault agent's messages: the first byte selects requests or replies, the rest is type and body.
func fuzzAgentMessage(_ input: [UInt8]) throws -> Bool {
    guard let kind = input.first else { return false }
    let message = Array(input.dropFirst())
    return try kind % 2 == 0 ? request(message) : reply(message)
}

private func request(_ message: [UInt8]) throws -> Bool {
    let read: VaultAgentRequest
    do {
        read = try message.withUnsafeBytes { bytes in try VaultAgentRequest(bytes) }
    } catch let failure as FingerprintFailure {
        try invariant(failure == .malformed || failure == .memoryNotLocked, "a request is malformed")
        return false
    }
    let frame: SecretBytes
    switch read {
    case .status: frame = VaultAgentRequest.frame(.status)
    case .release(let vault): frame = VaultAgentRequest.frame(.release, vault)
    case .forget(let vault): frame = VaultAgentRequest.frame(.forget, vault)
    case .hold(let vault, let key, let isTest, let fingers):
        try invariant(FingerList.isValid(fingers), "lists of fingers are valid")
        frame = key.withUnsafeBytes { VaultAgentRequest.holdFrame(vault, key: $0, isTest: isTest, fingers: fingers) }
    }
    try invariant(body(of: frame) == message, "a request has one encoding")
    return true
}

private func reply(_ message: [UInt8]) throws -> Bool {
    guard let read = message.withUnsafeBytes({ VaultAgentReply($0) }) else { return false }
    if case .status(let status) = read, status.held.count > KeyCustody.maximumKeys { return true }
    let frame = read.frame
    try invariant(body(of: frame) == message, "a reply has one encoding")
    return true
}

/// Returns type and body of a frame.
private func body(of frame: SecretBytes) -> [UInt8] {
    withExtendedLifetime(frame) { Array($0.memory.dropFirst(VaultAgentFrame.headerLength)) }
}
