// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
package import HybridSSHAgent

/// A website's request to the process that performs a ceremony; its answer is a ``WebsiteAnswer``.
///
/// The encoding is 4 bytes length, big-endian ‖ CBOR map {1: ``RemoteMessage``, 2: purpose, 3: time limit in seconds, 4: true if
/// the user has agreed already to use the phone}. The same bytes may follow as after a ``CeremonyRequest``.
package struct WebsiteRequest: CeremonyInput {
    package static let command = "website"
    package static let maximumLength = RemoteMessage.maximumLength + 8192
    private static let maximumPurpose = 4096

    /// The message of the other host.
    package let message: RemoteMessage
    /// The purpose on one line, for the user.
    package let purpose: String
    package let seconds: Int
    /// True if the user has agreed already to use the phone.
    package let hasAgreed: Bool

    /// Creates a request.
    package init(_ message: RemoteMessage, purpose: String, seconds: Int, hasAgreed: Bool) {
        (self.message, self.purpose, self.seconds, self.hasAgreed) = (message, purpose, seconds, hasAgreed)
    }

    package var map: [UInt8] {
        let members: CBORMap = [
            1: .bytes(message.encoded), 2: .text(purpose), 3: .integer(seconds), 4: .boolean(hasAgreed),
        ]
        return CBOREncoder.encode(members)
    }

    package init?(parsing bytes: [UInt8]) {
        guard let map = try? CBORDecoder.decode(bytes, mode: .strict).map, map.entries.count == 4,
            let encoded = map[1]?.bytes, let message = try? RemoteMessage(parsing: encoded),
            let purpose = map[2]?.text, purpose.utf8.count <= Self.maximumPurpose,
            let seconds = map[3]?.integer, Self.permittedSeconds.contains(seconds), let hasAgreed = map[4]?.boolean
        else { return nil }
        self.init(message, purpose: purpose, seconds: seconds, hasAgreed: hasAgreed)
    }
}

/// The result of a ceremony for a website, as its process writes it: the answer, and the cause of a failure for the journal.
package struct WebsiteAnswer: Sendable {
    /// The answer for the other host.
    package let answer: RemoteAnswer
    /// The sentence of the failure and its code, which stay on this computer; `nil` after a success.
    package let cause: String?

    /// Creates a result.
    package init(_ answer: RemoteAnswer, cause: String? = nil) {
        (self.answer, self.cause) = (answer, cause?.replacing("\n", with: " "))
    }

    /// The encoding: the cause, a line feed, and the answer.
    package var encoded: [UInt8] { Array((cause ?? "").utf8) + [UInt8(ascii: "\n")] + answer.encoded }

    /// Creates a result from its encoding; `nil` if it is malformed.
    package init?(parsing bytes: [UInt8]) {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
            let answer = RemoteAnswer(parsing: Array(bytes[(end + 1)...]))
        else { return nil }
        self.init(answer, cause: end == 0 ? nil : String(decoding: bytes[..<end], as: UTF8.self))
    }
}
