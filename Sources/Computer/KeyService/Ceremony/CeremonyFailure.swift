// SPDX-License-Identifier: Apache-2.0

package import HybridCTAP
internal import HybridPrimitives
package import HybridProgram

/// The failure of a ceremony, as its process writes it in place of an answer.
///
/// The encoding is 1 byte CTAP status with which a phone has refused, otherwise 0 ‖ 1 byte length of the code ‖ code ‖ sentence,
/// both in UTF-8. The exit status of the process is that of the failure.
package struct CeremonyFailure: Hashable, Sendable {
    /// The status with which a phone has refused; `nil` if none has.
    let refusal: CTAPStatus?
    /// The failure, without the name of the exception that a browser would throw.
    package let failure: CommandFailure

    /// Creates a failure.
    ///
    /// - Parameters:
    ///   - failure: The failure of the ceremony.
    ///   - refusal: The status with which a phone has refused; `nil` if none has.
    package init(_ failure: CommandFailure, refusal: CTAPStatus? = nil) {
        var sentence = failure.sentence
        if let name = failure.details["webauthn_error"], sentence.hasSuffix(" (\(name))") {
            sentence = String(sentence.dropLast(name.count + 3))
        }
        self.failure = CommandFailure(sentence, code: failure.code, status: failure.status)
        self.refusal = refusal
    }

    /// The encoding.
    package var encoded: [UInt8] {
        let code = Array(failure.code.utf8.prefix(Int(UInt8.max)))
        return [refusal?.rawValue ?? 0, UInt8(code.count)] + code + failure.sentence.utf8
    }

    /// Creates a failure from its encoding and an exit status; `nil` if the encoding is damaged.
    init?(parsing bytes: [UInt8], status: ExitStatus) {
        guard bytes.count > 2, bytes.count > 2 + Int(bytes[1]),
            let code = String(validating: bytes[2..<2 + Int(bytes[1])], as: UTF8.self),
            let sentence = String(validating: bytes[(2 + Int(bytes[1]))...], as: UTF8.self),
            !code.isEmpty, code.utf8.allSatisfy(Self.isCodeByte)
        else { return nil }
        failure = CommandFailure(sentence, code: code, status: status)
        refusal = bytes[0] == 0 ? nil : CTAPStatus(rawValue: bytes[0])
    }

    private static func isCodeByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
        default: false
        }
    }
}

extension CommandFailure {
    /// The result of a ceremony that failed, for the journal.
    package var journalResult: String { code == Self.declined ? "declined" : "failed: \(sentence) (\(code))" }

    /// Returns the sentence for a log, which does not name the website or key.
    func logSentence(without id: RelyingPartyID) -> String { sentence.replacing(id.text, with: "this request") }

    /// The code of a request that the phone's user has declined.
    private static let declined = "declined"
}
