// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
internal import HybridCTAP
public import HybridPrimitives

/// A feature that the website requires and that the phone lacks according to its getInfo response.
///
/// In that case the request is not sent (WebAuthn Level 3 §5.1.3, §6.3.2).
public struct MissingAbility: WebAuthnFailure, Hashable {
    /// The phone supports none of the requested algorithms.
    public static let algorithms = Self(
        "the phone supports none of the key types that the website accepts",
        .notSupportedError
    )
    /// The phone does not store discoverable passkeys.
    public static let discoverablePasskeys = Self(
        "the website requires a discoverable passkey, which the phone does not support"
    )
    /// The phone cannot verify its user.
    public static let userVerification = Self(
        "the website requires user verification, which is not set up on the phone"
    )
    /// The phone does not store large blobs.
    public static let largeBlobs = Self(
        "the website requires a passkey that stores data (largeBlob), which the phone does not support"
    )
    /// The phone does not confirm the protection that the website requires.
    public static let credentialProtection = Self(
        "the website requires a protected passkey (enforceCredentialProtectionPolicy), which the phone does not support; "
            + "register with a security key there",
        .notAllowedError
    )
    /// All IDs of the website's list are longer than those that the phone has.
    public static let noPossiblePasskey = Self(
        "the website accepts certain passkeys only, and none of them can be on this phone: their IDs are too long for it",
        .notAllowedError
    )

    /// The cause.
    public let sentence: String
    /// Name of the exception that a browser would throw.
    public let name: WebAuthnErrorName
    /// The code `phone-not-able`.
    public var code: String { "phone-not-able" }
    /// The exit status for a request that is not permitted.
    public var status: ExitStatus { .notPermitted }

    private init(_ sentence: String, _ name: WebAuthnErrorName = .constraintError) {
        self.sentence = sentence
        self.name = name
    }
}

extension AuthenticatorInfo {
    /// Returns true if the authenticator lists an extension; names are compared bytewise.
    func lists(_ name: String) -> Bool { extensions.contains { $0.utf8.elementsEqual(name.utf8) } }

    /// Returns the entries of a list whose IDs are not too long for the authenticator (CTAP 2.2 §6.4).
    ///
    /// The list is not split by `maxCredentialCountInList`: to find the part with the right passkey, a client would have
    /// to ask silently, which phones refuse, or ask the user once for each part. Chromium does not split it for phones
    /// either (`FilterAndBatchCredentialDescriptors` in device/fido/make_credential_task.cc).
    func possible(_ list: [CredentialDescriptor]) -> [CredentialDescriptor] {
        guard let maximum = maximumCredentialIDLength, maximum > 0 else { return list }
        return list.filter { $0.id.bytes.count <= maximum }
    }

    /// Returns the inputs for extensions that the authenticator lists; `nil` if there are none.
    func known(_ inputs: CBORMap?) -> CBORMap? {
        var known = CBORMap()
        for (name, input) in inputs?.entries ?? [] where name.text.map(lists) == true { known[name] = input }
        return known.isEmpty ? nil : known
    }
}

extension CBORMap {
    /// Adds the entries of another map, which replace entries with the same key.
    mutating func merge(_ other: CBORMap) {
        for (key, value) in other.entries { self[key] = value }
    }
}
