// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
package import HybridCTAP

/// An identity `AGE-PLUGIN-FIDO2PRF-1…`: a passkey, to which files are encrypted directly, as typage defines it.
///
///     unsigned 1 ‖ bytes credential ID ‖ text RP ID ‖ array of texts transports
///
/// It is not secret.
package struct PasskeyIdentity: Hashable, Sendable {
    static let prefix = "age-plugin-fido2prf-"

    /// The passkey.
    package let credential: CredentialDescriptor
    /// The relying party of the passkey.
    package let relyingPartyID: RelyingPartyID

    /// Creates an identity.
    package init(credential: CredentialDescriptor, relyingPartyID: RelyingPartyID) {
        (self.credential, self.relyingPartyID) = (credential, relyingPartyID)
    }

    /// Creates an identity from the data of its text.
    ///
    /// - Throws: ``AgeFormatError/identity``, ``AgeFormatError/identityVersion``.
    init(data: [UInt8]) throws(AgeFormatError) {
        var items = try IdentityItems(data)
        let id = try items.credentialID()
        relyingPartyID = try items.relyingPartyID()
        credential = CredentialDescriptor(id: id, transports: try items.transports())
        try items.end()
    }

    private var data: [UInt8] {
        IdentityItems.encode([.bytes(credential.id.bytes), .text(relyingPartyID.text), credential.transportItem])
    }

    /// The text in upper case.
    package var text: String {
        String(decoding: Bech32.encode(prefix: Self.prefix, data), as: UTF8.self).uppercased()
    }
}

/// The items of an identity: a sequence of CBOR items that begins with the version 1.
struct IdentityItems {
    private var rest: ArraySlice<UInt8>

    private static let version: CBORValue = 1
    /// Maximum length of a byte string or text in bytes.
    private static let maximumString = Int(UInt16.max)

    init(_ data: [UInt8]) throws(AgeFormatError) {
        rest = data[...]
        let version = try next()
        guard version == Self.version else {
            throw version.integer.map { $0 > 1 } == true ? .identityVersion : .identity
        }
    }

    /// Returns the encoding of items behind the version.
    static func encode(_ items: [CBORValue]) -> [UInt8] {
        ([version] + items).flatMap { CBOREncoder.encode($0) }
    }

    /// Reads the next item.
    mutating func next() throws(AgeFormatError) -> CBORValue {
        guard let (value, length) = try? CBORDecoder.decodePrefix(rest, mode: .strict),
            (value.bytes?.count ?? value.text?.utf8.count ?? 0) <= Self.maximumString
        else { throw .identity }
        rest = rest.dropFirst(length.consumed)
        return value
    }

    mutating func bytes() throws(AgeFormatError) -> [UInt8] {
        guard let bytes = try next().bytes else { throw .identity }
        return bytes
    }

    mutating func credentialID() throws(AgeFormatError) -> CredentialID {
        guard let id = CredentialID(bytes: try bytes()) else { throw .identity }
        return id
    }

    mutating func text() throws(AgeFormatError) -> String {
        guard let text = try next().text else { throw .identity }
        return text
    }

    mutating func relyingPartyID() throws(AgeFormatError) -> RelyingPartyID {
        guard let id = RelyingPartyID(try text()) else { throw .identity }
        return id
    }

    mutating func transports() throws(AgeFormatError) -> [String] {
        guard let items = try next().array else { throw .identity }
        let texts = items.compactMap(\.text)
        guard texts.count == items.count else { throw .identity }
        return texts
    }

    /// Checks that no bytes follow.
    func end() throws(AgeFormatError) {
        guard rest.isEmpty else { throw .identity }
    }
}

extension CredentialDescriptor {
    /// The transports as an item of an identity.
    var transportItem: CBORValue { .array(transports.map { .text($0) }) }
}
