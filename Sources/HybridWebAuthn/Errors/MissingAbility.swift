// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
internal import HybridCTAP

/// What a website insists on and the phone, by its own description, lacks; its user need not be asked then.
public enum MissingAbility: Error, Equatable, Sendable {
    /// None of the algorithms asked for.
    case algorithms
    /// It keeps no discoverable passkeys.
    case discoverablePasskeys
    /// It can't verify its user.
    case userVerification
    /// It keeps no blobs.
    case largeBlobs

    /// What a website is told (WebAuthn Level 3 §5.1.3, §6.3.2).
    public var name: WebAuthnErrorName { self == .algorithms ? .notSupportedError : .constraintError }

    /// What is missing, as one line for people.
    public var sentence: String {
        switch self {
        case .algorithms: "the phone makes none of the kinds of keys that the website takes"
        case .discoverablePasskeys: "the website requires a passkey that need not be named, and the phone keeps none"
        case .userVerification: "the website requires that the user is verified, and the phone is not set up for it"
        case .largeBlobs: "the website requires a passkey that keeps data for it (largeBlob), and the phone keeps none"
        }
    }
}

extension AuthenticatorInfo {
    /// Whether it lists an extension; names are compared byte by byte.
    func lists(_ name: String) -> Bool { extensions.contains { $0.utf8.elementsEqual(name.utf8) } }

    /// Those extensions of a request that it lists; `nil` if none is left.
    func known(_ inputs: CBORMap?) -> CBORMap? {
        var known = CBORMap()
        for (name, input) in inputs?.entries ?? [] where name.text.map(lists) == true { known[name] = input }
        return known.isEmpty ? nil : known
    }
}

extension CBORMap {
    /// Takes over the entries of another map.
    mutating func merge(_ other: CBORMap) {
        for (key, value) in other.entries { self[key] = value }
    }
}
