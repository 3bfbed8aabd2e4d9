// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCTAP
internal import HybridPrimitives

/// A credential of a file to import.
enum ImportedCredential {
    /// A passkey, with the names of members that cannot be kept.
    ///
    /// It is indirect, so that credentials of other types, which may be far more numerous, take less memory.
    indirect case passkey(ExchangedPasskey, lost: [String])
    /// A passkey that cannot be imported.
    case skipped(SkippedCredential, PasskeyLabel)
    /// A credential of another type, with the type from the file; empty if there is none.
    case other(String)

    /// Creates a passkey, or a skipped one, because a malformed passkey is no reason to reject the others.
    init(
        _ json: JSONText,
        _ read: (JSONText, inout [String]) throws(SkippedCredential) -> ExchangedPasskey
    ) {
        var lost: [String] = []
        do throws(SkippedCredential) {
            self = .passkey(try read(json, &lost), lost: lost)
        } catch {
            self = .skipped(error, PasskeyLabel(json))
        }
    }
}

/// The site and the account of a passkey in a file, for messages; untrusted text of at most 64 characters each.
package struct PasskeyLabel: Hashable, Sendable {
    /// RP ID as the file has it; `nil` if there is none.
    package let site: String?
    /// Name of the account; `nil` if there is none.
    package let account: String?

    private static let maximumCharacters = 64

    /// Creates a label from the members of a passkey that is otherwise malformed.
    fileprivate init(_ json: JSONText) {
        let account = json.member("username")?.text ?? json.member("userName")?.text
        let site = json.member("rpId")?.text ?? json.member("relyingParty")?.text
        self.init(site: site, account: account)
    }

    /// Creates a label from the site and the account.
    package init(site: String?, account: String?) {
        func shortened(_ text: String) -> String { String(text.unicodeScalars.prefix(Self.maximumCharacters)) }
        self.site = site.map(shortened)
        self.account = account.map(shortened)
    }
}

/// Members of passkeys. A malformed member affects only its passkey, so there are no paths.
extension JSONText {
    /// Returns a member; `nil` if it is absent or `null`.
    func optional(_ name: String) -> JSONText? {
        let value = member(name)
        if case .null? = value { return nil }
        return value
    }

    /// Returns a member that `read` accepts.
    func valid<Value>(
        _ name: String,
        _ read: (JSONText) throws(SkippedCredential) -> Value?
    ) throws(SkippedCredential) -> Value {
        guard let member = member(name), let value = try read(member) else { throw .malformed(member: name) }
        return value
    }

    /// Returns the first of these members that is present as a name; empty if there is none, or if it is no text.
    ///
    /// A name is never worth a passkey: one of another type only counts as lost.
    func entityName(_ names: String..., lost: inout [String]) -> String {
        guard let name = names.first(where: { optional($0) != nil }), let value = optional(name) else { return "" }
        guard let text = value.text else {
            lost.append(name)
            return ""
        }
        return EntityName.shortened(text)
    }

    /// Returns the bytes of a string in base64url.
    func bytes(atMost limit: Int) -> [UInt8]? { text.flatMap { Base64URL.decodePadded($0, maximumLength: limit) } }

    /// The user handle in base64url.
    var userHandle: UserHandle? { bytes(atMost: 64).flatMap { UserHandle(bytes: $0) } }

    /// The private key in PKCS#8 and base64url; `nil` if it is malformed.
    var privateKey: P256.Signing.PrivateKey? {
        get throws(SkippedCredential) {
            guard let der = bytes(atMost: PrivateKeyInfo.maximumLength) else { return nil }
            do throws(PrivateKeyInfo.ParseError) {
                return try PrivateKeyInfo.p256(der)
            } catch .otherAlgorithm {
                throw .otherAlgorithm
            } catch {
                return nil
            }
        }
    }
}
