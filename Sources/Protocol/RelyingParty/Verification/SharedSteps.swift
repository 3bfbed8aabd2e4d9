// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridPrimitives
internal import HybridWebAuthn

extension RelyingParty {
    /// Checks client data (WebAuthn Level 3 §7.1 steps 7 to 11, §7.2 steps 10 to 14).
    func check(
        _ clientData: CollectedClientData,
        type: ClientData.Kind,
        _ challenge: Challenge
    ) throws(ResponseRejection.Cause) {
        guard clientData.type == type.rawValue else { throw .otherType }
        guard ConstantTime.equal(Array(clientData.challenge.utf8), Array(challenge.text.utf8)) else {
            throw .otherChallenge
        }
        // Origins are compared as texts: clients send the serialization, and a different spelling is not theirs.
        guard origins.contains(where: { $0.text == clientData.origin }) else { throw .otherOrigin }
        guard !clientData.isCrossOrigin || !topOrigins.isEmpty else { throw .crossOrigin }
        if let top = clientData.topOrigin {
            // Only frames of other origins have this member (§5.8.1).
            guard clientData.isCrossOrigin, topOrigins.contains(where: { $0.text == top }) else {
                throw .otherTopOrigin
            }
        }
    }

    /// Checks authenticator data (§7.1 steps 14 to 17, §7.2 steps 15 to 18).
    func check(
        _ data: AuthenticatorData,
        _ userVerification: UserVerificationRequirement,
        requiresPresence: Bool = true
    ) throws(ResponseRejection.Cause) {
        guard data.relyingPartyIDHash == id.hash else { throw .otherRelyingParty }
        guard data.flags.contains(.userPresent) || !requiresPresence else { throw .userNotPresent }
        guard data.flags.contains(.userVerified) || userVerification != .required else { throw .userNotVerified }
        guard data.flags.contains(.backupEligible) || !data.flags.contains(.backedUp) else {
            throw .contradictoryBackupFlags
        }
    }
}

extension ResponseRejection.Procedure {
    /// Runs steps, and turns the cause of the first failure into a rejection.
    func run<Result>(_ steps: () throws(ResponseRejection.Cause) -> Result) throws(ResponseRejection) -> Result {
        do throws(ResponseRejection.Cause) {
            return try steps()
        } catch {
            throw ResponseRejection(error, in: self)
        }
    }
}
