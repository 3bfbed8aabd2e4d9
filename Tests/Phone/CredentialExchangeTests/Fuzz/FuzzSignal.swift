// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridPrimitives
import TestSupport

@testable import HybridCredentialExchange

/// Fuzzes signals of websites: those that are read are within the limits and are read again from their own JSON.
func fuzzSignal(_ input: [UInt8]) throws -> Bool {
    let signals: [PasskeySignal]
    do throws(PasskeySignal.ReadError) {
        signals = try PasskeySignal.read(input)
    } catch {
        try invariant(error.sentence.utf8.count <= 1000, "a refusal is short")
        return false
    }
    // A signal about an ID that no passkey can have is left out.
    try invariant(signals.count <= PasskeySignal.maximumCount, "an array has at most 100 signals")
    guard !signals.isEmpty else { return true }
    let json = JSONText.array(signals.map(text)).description
    // Escapes make JSON longer.
    guard json.utf8.count <= PasskeySignal.maximumLength else { return true }
    try invariant((try? PasskeySignal.read(Array(json.utf8))) == signals, "signals are read as they were written")
    return true
}

private func text(_ signal: PasskeySignal) -> JSONText {
    let site = ("rpId", JSONText.string(signal.relyingParty.text))
    func bytes(_ bytes: [UInt8]) -> JSONText { .string(Base64URL.encode(bytes)) }
    return switch signal {
    case .unknownCredential(_, let id): .object([site, ("credentialId", bytes(id.bytes))])
    case .allAcceptedCredentials(_, let user, let ids):
        .object([
            site, ("userId", bytes(user.bytes)), ("allAcceptedCredentialIds", .array(ids.map { bytes($0.bytes) })),
        ])
    case .currentUserDetails(_, let user):
        .object([
            site, ("userId", bytes(user.id.bytes)), ("name", .string(user.name)),
            ("displayName", .string(user.displayName)),
        ])
    }
}
