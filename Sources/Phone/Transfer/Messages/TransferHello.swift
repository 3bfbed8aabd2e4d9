// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
package import HybridPrimitives

/// The other device of a transfer, as it describes itself.
package struct TransferPeer: Hashable, Sendable {
    /// Its name, which its user chose; untrusted text in quotation marks.
    package let name: SafeText
    /// The first four digits of the fingerprint of its vault's key; `nil` if it has no vault yet.
    package let vault: String?
}

/// The vault of this device, as far as a transfer needs it.
package struct TransferVault: Hashable, Sendable {
    /// The first four digits of the fingerprint of its key.
    let digits: String
    /// Its ID, which no other device learns.
    let id: [UInt8]

    /// Creates the description of a vault.
    ///
    /// - Parameters:
    ///   - fingerprint: The fingerprint of its key, which begins with a group of at least four digits.
    ///   - id: Its ID.
    package init(fingerprint: String, id: [UInt8]) {
        digits = String(fingerprint.prefix(Self.digitCount))
        self.id = id
    }

    private static let digitCount = 4

    /// Returns the four digits of a message; `nil` for an empty text.
    static func digits(_ json: JSONCursor) throws -> String? {
        let text = try json.text
        guard !text.isEmpty else { return nil }
        guard text.utf8.count == digitCount, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw TransferFailure.malformed("\(json.path) has not \(digitCount) digits")
        }
        return text
    }
}

extension SafeText {
    /// The name without the quotation marks, for messages.
    package var unquoted: String { String(description.dropFirst().dropLast()) }
}

/// The first message: the receiver describes itself, and commits itself to its nonce.
struct ReceiverHello {
    let purpose: TransferPurpose
    let peer: TransferPeer
    let commitment: NonceCommitment

    init(purpose: TransferPurpose, name: String, vault: String?, commitment: NonceCommitment) {
        self.purpose = purpose
        peer = TransferPeer(name: SafeText(quoting: name), vault: vault)
        self.commitment = commitment
    }

    /// Reads the message.
    ///
    /// - Parameter expected: The purpose of the code.
    init(_ frame: TransferFrame, for expected: TransferPurpose) throws(TransferFailure) {
        self = try TransferMessage.read(frame, as: .hello) { message in
            try message.checkVersion()
            guard TransferPurpose(rawValue: try message.member("purpose").text) == expected else {
                throw TransferFailure.purpose(expected: expected)
            }
            let vault = try TransferVault.digits(message.member("vault"))
            guard (vault == nil) == (expected == .join) else {
                throw TransferFailure.malformed("a device has a vault exactly if it joins none")
            }
            return ReceiverHello(
                purpose: expected,
                name: try message.member("name").text,
                vault: vault,
                commitment: try message.member("commitment").value(NonceCommitment.self)
            )
        }
    }

    var frame: TransferFrame {
        TransferMessage.shortFrame(
            .hello,
            [
                ("version", .number(TransferMessage.version)), ("purpose", .string(purpose.rawValue)),
                ("name", .string(peer.name.unquoted)), ("vault", .string(peer.vault ?? "")),
                ("commitment", .bytes(commitment.bytes)),
            ]
        )
    }
}

/// The second message: the giver describes itself, and sends its nonce.
struct GiverHello {
    let peer: TransferPeer
    let nonce: TransferNonce

    init(name: String, vault: String, nonce: TransferNonce) {
        peer = TransferPeer(name: SafeText(quoting: name), vault: vault)
        self.nonce = nonce
    }

    init(_ frame: TransferFrame) throws(TransferFailure) {
        self = try TransferMessage.read(frame, as: .hello) { message in
            try message.checkVersion()
            guard let vault = try TransferVault.digits(message.member("vault")) else {
                throw TransferFailure.malformed("the giver has no vault")
            }
            let nonce = try message.member("nonce").value(TransferNonce.self)
            return GiverHello(name: try message.member("name").text, vault: vault, nonce: nonce)
        }
    }

    var frame: TransferFrame {
        TransferMessage.shortFrame(
            .hello,
            [
                ("version", .number(TransferMessage.version)), ("name", .string(peer.name.unquoted)),
                ("vault", .string(peer.vault ?? "")), ("nonce", .bytes(nonce.bytes)),
            ]
        )
    }
}

/// The third message: the receiver reveals its nonce, and which vault it has to a device that has the same one.
struct NonceReveal {
    let nonce: TransferNonce
    /// The tag of the receiver's vault; `nil` if it has none yet.
    let vault: VaultTag?

    init(nonce: TransferNonce, vault: VaultTag?) { (self.nonce, self.vault) = (nonce, vault) }

    init(_ frame: TransferFrame) throws(TransferFailure) {
        self = try TransferMessage.read(frame, as: .reveal) { message in
            let nonce = try message.member("nonce").value(TransferNonce.self)
            let vault = try message.memberIfPresent("vault")?.value(VaultTag.self)
            return NonceReveal(nonce: nonce, vault: vault)
        }
    }

    var frame: TransferFrame {
        let tag: [(String, JSONText)] = vault.map { [("vault", .bytes($0.bytes))] } ?? []
        return TransferMessage.shortFrame(.reveal, [("nonce", .bytes(nonce.bytes))] + tag)
    }
}

extension JSONCursor {
    /// Checks the version of a greeting before anything else is read.
    fileprivate func checkVersion() throws {
        guard try member("version").integer() == TransferMessage.version else { throw TransferFailure.version }
    }
}
