// SPDX-License-Identifier: Apache-2.0

import HybridDBus
import Testing

@testable import HybridVaultAgent

@Suite("A verification")
struct VerificationTests {
    @Test("A match ends it, and later signals are ignored")
    func match() {
        var verification = FingerVerification()
        #expect(verification.handle("verify-match", isDone: true) == .match)
        #expect(verification.handle("verify-match", isDone: true) == .ignore)
    }

    @Test("The third finger that does not match ends it")
    func misses() {
        var verification = FingerVerification()
        #expect(verification.handle("verify-no-match", isDone: true) == .miss(again: true))
        #expect(verification.handle("verify-no-match", isDone: true) == .miss(again: true))
        #expect(verification.handle("verify-no-match", isDone: true) == .miss(again: false))
        #expect(verification.handle("verify-match", isDone: true) == .ignore)
    }

    @Test(
        "Results that ask for the finger again are no attempts",
        arguments: [
            "verify-retry-scan", "verify-swipe-too-short", "verify-finger-not-centered", "verify-remove-and-retry",
        ]
    )
    func retries(result: String) {
        var verification = FingerVerification()
        for _ in 0..<10 { #expect(verification.handle(result, isDone: false) == .retry) }
        #expect(verification.handle("verify-match", isDone: true) == .match)
    }

    @Test("Errors end it; unknown results that are not the last are ignored")
    func errors() {
        var verification = FingerVerification()
        #expect(verification.handle("verify-new", isDone: false) == .ignore)
        #expect(verification.handle("verify-unknown-error", isDone: true) == .fail(.sensorError))
        #expect(verification.handle("verify-match", isDone: true) == .ignore)
        verification = FingerVerification()
        #expect(verification.handle("verify-disconnected", isDone: true) == .fail(.disconnected))
        verification = FingerVerification()
        #expect(verification.handle("verify-retry-scan", isDone: true) == .fail(.sensorError))
    }

    @Test(
        "Errors of fprintd and of the bus have their own sentences",
        arguments: [
            ("net.reactivated.Fprint.Error.NoSuchDevice", FingerprintFailure.noDevice),
            ("net.reactivated.Fprint.Error.AlreadyInUse", .inUse),
            ("net.reactivated.Fprint.Error.NoEnrolledPrints", .noEnrolledPrints),
            ("net.reactivated.Fprint.Error.PermissionDenied", .permissionDenied),
            ("net.reactivated.Fprint.Error.Internal", .sensorError),
            ("org.freedesktop.DBus.Error.ServiceUnknown", .serviceMissing),
            ("org.freedesktop.DBus.Error.NoReply", .disconnected),
        ]
    )
    func busErrors(name: String, expected: FingerprintFailure) {
        #expect(FingerprintFailure(BusError.refused(name: name, message: "")) == expected)
    }
}
