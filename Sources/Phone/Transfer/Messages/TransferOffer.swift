// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
package import HybridCTAP
internal import HybridCaBLE
package import HybridCredentialExchange
package import HybridPrimitives

/// A passkey that the giver offers, as the receiver's user sees it before anything is stored.
package struct OfferedPasskey: Hashable, Sendable {
    /// The website or service.
    package let relyingParty: RelyingPartyID
    /// The name of the account; untrusted text in quotation marks.
    package let user: SafeText
    /// The time of creation in seconds since 1970; `nil` if unknown.
    package let created: UInt64?

    /// Describes a passkey.
    package init(_ passkey: ExchangedPasskey) {
        let user = passkey.passkey.user
        relyingParty = passkey.passkey.relyingParty
        self.user = SafeText(quoting: user.name.isEmpty ? user.displayName : user.name)
        created = passkey.created
    }

    init(_ json: JSONCursor) throws {
        let site = try json.member("rpId")
        guard let relyingParty = RelyingPartyID(try site.text, accepting: Set(RelyingPartyID.Kind.allCases)) else {
            throw TransferFailure.malformed("\(site.path) is not a website or service")
        }
        self.relyingParty = relyingParty
        user = SafeText(quoting: try json.member("user").text)
        created = try json.memberIfPresent("created")?.integer(UInt64.self)
    }

    var json: JSONText {
        let time: [(String, JSONText)] = created.map { [("created", .numeral("\($0)"))] } ?? []
        return .object([("rpId", .string(relyingParty.text)), ("user", .string(user.unquoted))] + time)
    }
}

/// The content of an offer.
package enum TransferOffer: Hashable, Sendable {
    /// Passkeys.
    ///
    /// - Parameters:
    ///   - bytes: About the number of bytes of their documents.
    ///   - isMove: True if the giver removes each one when the receiver has it.
    case passkeys([OfferedPasskey], bytes: UInt64, isMove: Bool)
    /// The key of a vault, with the fingerprint to compare and the number of passkeys in it.
    case vault(fingerprint: String, passkeys: Int)

    /// Maximum number of passkeys in one transfer.
    package static let maximumCount = 4096
    /// Maximum length of a fingerprint in bytes.
    private static let maximumFingerprint = 64
    /// Maximum number of passkeys in a vault.
    private static let maximumVault = 1_000_000

    /// Reads the message.
    init(_ frame: TransferFrame, for purpose: TransferPurpose) throws(TransferFailure) {
        self = try TransferMessage.read(frame, as: .offer) { message in
            switch purpose {
            case .give: return try Self.passkeys(message)
            case .join: return try Self.vault(message)
            }
        }
    }

    private static func passkeys(_ message: JSONCursor) throws -> TransferOffer {
        let items = try message.member("items").elements
        guard (1...maximumCount).contains(items.count) else {
            throw TransferFailure.malformed("an offer has 1 to \(maximumCount) passkeys")
        }
        let passkeys = try items.map { try OfferedPasskey($0) }
        let bytes = try message.member("bytes").integer(UInt64.self)
        return .passkeys(passkeys, bytes: bytes, isMove: try message.member("move").boolean)
    }

    private static func vault(_ message: JSONCursor) throws -> TransferOffer {
        let fingerprint = try message.member("vault").text
        let isDigits = fingerprint.utf8.allSatisfy { $0 == 0x20 || (0x30...0x39).contains($0) }
        guard isDigits, (1...maximumFingerprint).contains(fingerprint.utf8.count) else {
            throw TransferFailure.malformed("the fingerprint does not consist of digits")
        }
        let count = try message.member("passkeys").integer(Int.self)
        guard (0...maximumVault).contains(count) else {
            throw TransferFailure.malformed("no vault has so many passkeys")
        }
        return .vault(fingerprint: fingerprint, passkeys: count)
    }

    /// The message.
    func frame() throws(TransferFailure) -> TransferFrame {
        switch self {
        case .passkeys(let passkeys, let bytes, let isMove):
            let items = passkeys.map(\.json)
            return try TransferMessage.frame(
                .offer,
                [("items", .array(items)), ("bytes", .numeral("\(bytes)")), ("move", .boolean(isMove))]
            )
        case .vault(let fingerprint, let passkeys):
            return try TransferMessage.frame(
                .offer,
                [("vault", .string(fingerprint)), ("passkeys", .number(passkeys))]
            )
        }
    }
}

/// The receiver's consent: the passkeys that it takes, and the key to seal them for.
struct TransferAcceptance {
    /// The indices of the accepted passkeys in rising order; `nil` for all.
    let which: [Int]?
    let request: ExportRequest

    init(which: [Int]?, request: ExportRequest) { (self.which, self.request) = (which, request) }

    /// Reads the message.
    ///
    /// - Parameter count: The number of offered passkeys; 0 for a vault.
    init(_ frame: TransferFrame, offered count: Int) throws(TransferFailure) {
        self = try TransferMessage.read(frame, as: .accept) { message in
            let which = try message.memberIfPresent("which")?.elements.map { try $0.integer(Int.self) }
            if let which { try Self.check(which, offered: count) }
            return TransferAcceptance(which: which, request: try ExportRequest(message.member("request")))
        }
    }

    /// Checks indices of offered passkeys.
    static func check(_ which: [Int], offered count: Int) throws(TransferFailure) {
        let isRising = zip(which, which.dropFirst()).allSatisfy { $0 < $1 }
        guard isRising, let first = which.first, let last = which.last, first >= 0, last < count else {
            throw .malformed("the accepted passkeys are not those that were offered, in their order")
        }
    }

    func frame() throws(TransferFailure) -> TransferFrame {
        let chosen: [(String, JSONText)] = which.map { [("which", .array($0.map { .number($0) }))] } ?? []
        return try TransferMessage.frame(.accept, chosen + [("request", request.json)])
    }
}
