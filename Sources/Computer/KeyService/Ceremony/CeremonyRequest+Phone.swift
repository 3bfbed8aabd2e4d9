// SPDX-License-Identifier: Apache-2.0

package import HybridCTAP
internal import HybridPrimitives
package import HybridProgram

extension CeremonyRequest {
    /// Extensions that are sent only to phones that list them.
    private static let listedExtensions: Set = [SignedDataInput.extensionName, CredentialProtection.extensionName]

    /// Returns the request for a phone, whose description may exclude discoverable passkeys and extensions.
    ///
    /// - Throws: ``CommandFailure`` if the phone lacks what the request needs, before anything is created there.
    package func ctapRequest(for phone: AuthenticatorInfo) throws(CommandFailure) -> CTAPRequest {
        guard !needsSecret || phone.extensions.contains(PRFInput.extensionName) else { throw .noSecrets }
        let known = command.ctapRequest.without(Self.listedExtensions, unlessListedIn: phone)
        guard case .makeCredential(var request) = known, phone.options["rk"] == false else { return known }
        request.residentKey = false
        return .makeCredential(request)
    }
}

extension CommandFailure {
    /// A phone that has no `prf`.
    fileprivate static let noSecrets = CommandFailure(
        "this phone gives no secrets of passkeys (prf); use a phone with Android 14, iOS 18, or hybrid-auth",
        code: "no-prf",
        status: .unavailable
    )
}
