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

    /// The model of an iPhone that serves other devices (observed from iOS 16 to 26).
    private static let iPhone: [UInt8] = [
        0xF2, 0x4A, 0x8E, 0x70, 0xD0, 0xD3, 0xF8, 0x2C, 0x29, 0x37, 0x32, 0x52, 0x3C, 0xC4, 0xDE, 0x5A,
    ]

    /// Returns a warning about results that a later version of the phone's system changes; `nil` for other phones and requests.
    ///
    /// iOS 18.0 to 18.3 returned other results to other devices than iOS 18.4 does. No phone states its version. An iPhone that
    /// presents digital credentials has iOS 26 or newer.
    ///
    /// - Parameters:
    ///   - phone: The description of the phone.
    ///   - presentsCredentials: True if the phone presents digital credentials.
    package func warning(of phone: AuthenticatorInfo, presentsCredentials: Bool) -> String? {
        guard needsSecret, case .create = command, phone.aaguid.bytes == Self.iPhone, !presentsCredentials else {
            return nil
        }
        return
            "with iOS 18.0 to 18.3, this key stops opening after an update; update to iOS 18.4 or newer before you create "
            + "it, and keep the copy"
    }
}

extension CommandFailure {
    /// A phone that has no `prf`.
    fileprivate static let noSecrets = CommandFailure(
        "this phone gives no secrets of passkeys (prf); use a phone with Android 14 or iOS 18.4, or hybrid-auth",
        code: "no-prf",
        status: .unavailable
    )
}
