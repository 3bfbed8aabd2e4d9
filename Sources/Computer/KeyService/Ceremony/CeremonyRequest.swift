// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
package import HybridCTAP
internal import HybridPrimitives

/// A request to the process that performs a ceremony.
///
/// The encoding is 4 bytes length, big-endian ‖ CBOR map {1: CTAP request, 2: purpose, 3: time limit in seconds, 4: name
/// of a linked phone, if the user has named one, 5: true if a guest asks, 6: true if the user has
/// agreed already to use the phone, absent otherwise, 7: true if the results of `prf` are needed, absent otherwise}. While the ceremony runs, bytes may follow:
/// ``showCode`` if the user wants a code instead of waiting for a linked phone, and ``usePhone`` if the user wants that a
/// linked phone is contacted for a guest.
package struct CeremonyRequest: CeremonyInput, Equatable {
    package static let command = "ceremony"
    /// Maximum length of the map in bytes: of the longest data that is signed, and 16 KiB for everything else.
    package static let maximumLength = SignedDataInput.maximumLength + 16 * 1024
    /// Length of the field before the map in bytes.
    package static let headerLength = 4
    /// The byte that asks for a code.
    package static let showCode = UInt8(ascii: "c")
    /// The byte that permits to contact a linked phone for a guest.
    package static let usePhone = UInt8(ascii: "p")
    private static let maximumPurpose = 4096
    /// Maximum length of the name of a phone in bytes.
    package static let maximumPhone = 255

    /// The command for the phone.
    package enum Command: Equatable, Sendable {
        /// Creates a passkey.
        case create(MakeCredentialRequest)
        /// Signs with a passkey.
        case sign(GetAssertionRequest)

        /// The command as a CTAP request.
        package var ctapRequest: CTAPRequest {
            switch self {
            case .create(let request): .makeCredential(request)
            case .sign(let request): .getAssertion(request)
            }
        }
    }

    /// The command.
    package let command: Command
    /// The purpose on one line, for the user.
    package let purpose: String
    /// The time limit in seconds for finding a phone, and again for its user.
    package let seconds: Int
    /// The name or ID of the linked phone that the user has named; `nil` if none is named.
    package let phone: String?
    /// True if a guest of this computer asks: a website, a sandboxed program, or a program on another host.
    package let isForGuest: Bool
    /// True if the user has agreed already to use the phone, before a code was shown.
    package let hasAgreed: Bool
    /// True if the command is useless without the results of `prf`.
    package let needsSecret: Bool
    /// True if a linked phone may be contacted only after the user has agreed.
    package var needsConsent: Bool { isForGuest && !hasAgreed }

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - command: The command.
    ///   - purpose: The purpose on one line, for the user.
    ///   - seconds: The time limit in seconds, 1 to 3,600.
    ///   - phone: The name or ID of the linked phone that the user has named, at most 255 bytes.
    ///   - isForGuest: True if a guest of this computer asks.
    ///   - hasAgreed: True if the user has agreed already to use the phone.
    ///   - needsSecret: True if the command is useless without the results of `prf`.
    package init(
        _ command: Command,
        purpose: String,
        seconds: Int,
        phone: String? = nil,
        isForGuest: Bool = false,
        hasAgreed: Bool = false,
        needsSecret: Bool = false
    ) {
        self.command = command
        self.purpose = purpose
        self.seconds = seconds
        self.phone = phone
        self.isForGuest = isForGuest
        self.hasAgreed = hasAgreed
        self.needsSecret = needsSecret
    }

    /// The map.
    package var map: [UInt8] {
        var members: CBORMap = [1: .bytes(command.ctapRequest.encoded), 2: .text(purpose), 3: .integer(seconds)]
        members[4] = phone.map { .text($0) }
        members[5] = .boolean(isForGuest)
        if hasAgreed { members[6] = true }
        if needsSecret { members[7] = true }
        return CBOREncoder.encode(members)
    }

    /// Creates a request from its map, which must span the entire input; `nil` if the map is malformed.
    package init?(parsing bytes: [UInt8]) {
        guard let map = try? CBORDecoder.decode(bytes, mode: .strict).map, map[6] == nil || map[6] == true,
            map[7] == nil || map[7] == true,
            map.entries.count == 4 + [map[4], map[6], map[7]].count(where: { $0 != nil }),
            let encoded = map[1]?.bytes,
            let command = try? CTAPRequest(parsing: encoded, accepting: Set(RelyingPartyID.Kind.allCases)),
            let purpose = map[2]?.text,
            purpose.utf8.count <= Self.maximumPurpose, let seconds = map[3]?.integer,
            Self.permittedSeconds.contains(seconds),
            let isForGuest = map[5]?.boolean
        else { return nil }
        let phone = map[4]?.text
        guard map[4] == nil || phone.map({ $0.utf8.count <= Self.maximumPhone }) == true else { return nil }
        switch command {
        case .makeCredential(let request): self.command = .create(request)
        case .getAssertion(let request): self.command = .sign(request)
        case .getInfo, .selection: return nil
        }
        (self.purpose, self.seconds, self.phone, self.isForGuest) = (purpose, seconds, phone, isForGuest)
        (hasAgreed, needsSecret) = (map[6] != nil, map[7] != nil)
    }

    /// The relying party ID.
    package var relyingPartyID: RelyingPartyID {
        switch command {
        case .create(let request): request.relyingParty.id
        case .sign(let request): request.relyingPartyID
        }
    }
}
