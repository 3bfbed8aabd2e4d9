// SPDX-License-Identifier: Apache-2.0

public import Crypto
internal import HybridCBOR
public import HybridPrimitives

/// The contents of a QR code with which a receiver asks for a transfer: its public key, the secret of this session, and
/// the purpose.
///
/// The text is `HYBRID:/` followed by the digits of a CBOR map with integer keys, as in a ``QROffer``. The scheme differs,
/// so that camera apps do not pass the code to a passkey provider.
public struct TransferCode: Sendable, SecretMaterial {
    /// The version of transfers in key 16.
    public static let version = 1

    /// Key 0: public key of the receiver, new for each code; a compressed point of 33 bytes.
    public let receiverKey: P256.KeyAgreement.PublicKey
    /// Key 1: secret of 16 bytes.
    public let secret: TransferSecret
    /// Key 3: creation time in seconds since 1970; `nil` if absent.
    ///
    /// The time is only a hint, because the clocks of the two devices may differ.
    public let created: UInt64?
    /// Key 6: channels that the receiver offers, without duplicates; only the WebSocket if absent or malformed.
    public let channels: [DataChannelKind]
    /// Key 17: the purpose.
    public let purpose: TransferPurpose

    /// Creates the code of a receiver.
    ///
    /// Key 6 is omitted unless a channel other than the WebSocket is offered.
    public init(
        receiverKey: P256.KeyAgreement.PublicKey,
        secret: TransferSecret,
        created: UInt64,
        purpose: TransferPurpose,
        channels: [DataChannelKind] = [.webSocket]
    ) {
        (self.receiverKey, self.secret, self.created) = (receiverKey, secret, created)
        (self.purpose, self.channels) = (purpose, channels)
    }

    /// Returns the age of the code in seconds; `nil` if it is unknown or in the future.
    public func age(at now: UInt64) -> UInt64? { CodeMembers.age(created, at: now) }

    /// The keys that both ends derive from this code.
    public var keys: CodeKeys {
        CodeKeys(publicKey: receiverKey, secret: secret.key, ceremony: .transfer, channels: channels)
    }
}

/// The purpose of a transfer, which the code names.
public enum TransferPurpose: String, CaseIterable, Hashable, Sendable {
    /// The giver gives passkeys to the receiver.
    case give
    /// The receiver becomes another device of the giver's vault.
    case join
}

// MARK: - Text

extension TransferCode {
    /// A reason why a text is not a code for a transfer.
    public struct ParseError: ExplainedFailure, Hashable {
        /// The text begins neither with `HYBRID:/` nor with `FIDO:/`.
        public static let notTransfer = ParseError(
            "this is not a code for a transfer: its text does not begin with HYBRID:/"
        )
        /// The text begins with `FIDO:/`.
        public static let signInCode = ParseError(
            "this is a sign-in code, not one for a transfer; to sign in with it, use hybrid-auth scan"
        )
        /// The digits are damaged, truncated, or longer than any code.
        public static let damaged = ParseError("the code is damaged or incomplete; scan it again")
        /// Key 16 is not ``TransferCode/version``.
        public static let otherVersion = ParseError(
            "the code belongs to another version of this program; update hybrid-auth on both devices"
        )
        /// Key 17 is absent or names no ``TransferPurpose``.
        public static let unknownPurpose = ParseError(
            "the code asks for something that this program does not know; update hybrid-auth on this device"
        )

        /// Cause and remedy.
        public let sentence: String
        /// The exit status for malformed data.
        public var status: ExitStatus { .dataError }
        /// The name of the status.
        public var code: String { status.name }

        private init(_ sentence: String) { self.sentence = sentence }

        /// The digits do not encode the CBOR map of a code; the reason names the key.
        public static func malformed(_ reason: String) -> ParseError {
            ParseError("this program can't use the code (\(reason)); scan it again, or show a new one")
        }

        init(_ fault: CodeText.Fault) {
            switch fault {
            case .scheme(.signIn?): self = .signInCode
            case .scheme: self = .notTransfer
            case .damaged: self = .damaged
            }
        }
    }

    /// Creates a code from a line with the text of a QR code, which a byte order mark or white space may precede and white
    /// space may follow.
    ///
    /// The scheme may have either case, and one more slash.
    ///
    /// - Throws: ``ParseError``.
    public init(line: String) throws(ParseError) {
        let bytes: [UInt8]
        do throws(CodeText.Fault) {
            bytes = try CodeText.bytes(of: CodeText.text(inLine: line), expecting: .transfer)
        } catch {
            throw ParseError(error)
        }
        try self.init(cbor: bytes)
    }

    /// The text of the QR code: at most 195 characters.
    public var text: String {
        let members = CodeMembers(
            publicKey: receiverKey,
            secret: secret.key,
            created: created,
            channels: channels
        )
        var map = members.map
        map[16] = .integer(Self.version)
        map[17] = .text(purpose.rawValue)
        return CodeText.text(.transfer, CBOREncoder.encode(map))
    }

    init(cbor bytes: [UInt8]) throws(ParseError) {
        let map: CBORMap
        let members: CodeMembers
        do throws(CodeMembers.Fault) {
            map = try CodeMembers.map(encoded: bytes)
        } catch {
            throw .malformed(error.reason)
        }
        // Another version may have other members, so it comes first.
        guard map[16]?.integer == Self.version else { throw .otherVersion }
        guard let purpose = map[17]?.text.flatMap(TransferPurpose.init) else { throw .unknownPurpose }
        do throws(CodeMembers.Fault) {
            members = try CodeMembers(map)
        } catch {
            throw .malformed(error.reason)
        }
        self.purpose = purpose
        receiverKey = members.publicKey
        secret = TransferSecret(key: members.secret)
        created = members.created
        channels = members.channels
    }
}
