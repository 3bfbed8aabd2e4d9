// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP

// Certificates that are never readable, in place of Sources/Protocol/RelyingParty/Attestation/AttestationCertificate.swift,
// so that the fuzzer's build needs no X.509 library. The parser of certificates is not this project's.

/// A certificate that cannot be created.
struct AttestationCertificate: Sendable {
    let meetsRequirements = false

    init?(der: [UInt8]) { return nil }

    func key(for algorithm: COSEAlgorithm) -> VerificationKey? { nil }
    func isFor(_ aaguid: AAGUID) -> Bool { false }
    func isTrusted(by roots: [[UInt8]], intermediates: [[UInt8]]) async -> Bool { false }
}
