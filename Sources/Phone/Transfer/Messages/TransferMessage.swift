// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridPrimitives

/// The form of all messages: one strict JSON object with the member `type`; unknown members are ignored.
enum TransferMessage {
    /// The types of messages.
    enum Kind: String {
        case hello, reveal, offer, accept, items, stored, done, refused
    }

    /// The version of the messages.
    static let version = 1
    /// Maximum number of JSON values in a message; an offer of 4,096 passkeys has four times as many.
    static let maximumValues = 1 << 15

    /// Returns the frame of a message.
    ///
    /// - Throws: ``TransferFailure/tooLong`` if the message does not fit into a frame.
    static func frame(_ kind: Kind, _ members: [(String, JSONText)]) throws(TransferFailure) -> TransferFrame {
        let text = JSONText.object([("type", .string(kind.rawValue))] + members).description
        do throws(FrameError) {
            return try TransferFrame(padding: Array(text.utf8))
        } catch {
            throw .tooLong
        }
    }

    /// Returns the frame of a message that is always short.
    static func shortFrame(_ kind: Kind, _ members: [(String, JSONText)] = []) -> TransferFrame {
        do throws(TransferFailure) {
            return try frame(kind, members)
        } catch {
            preconditionFailure("a short message fits into a frame")
        }
    }

    /// Reads a message of the only type that may come now.
    ///
    /// - Throws: ``TransferFailure``, also if the other device refused.
    static func read<Value>(
        _ frame: TransferFrame,
        as kind: Kind,
        _ body: (JSONCursor) throws -> Value
    ) throws(TransferFailure) -> Value {
        do {
            let text = try JSONText(parsing: frame.bytes, maximumValues: maximumValues)
            let message = JSONCursor(text, named: "the message")
            let found = Kind(rawValue: try message.member("type").text)
            if found == .refused {
                let reason = text.member("reason")?.text
                throw TransferFailure.refused(reason.flatMap { TransferRefusal(rawValue: $0) } ?? .failed)
            }
            guard found == kind else { throw TransferFailure.malformed("no message \(kind) where one must be") }
            return try body(message)
        } catch {
            throw TransferFailure(reading: error)
        }
    }
}

extension TransferFailure {
    /// Creates a failure from an error of a reader of messages or files.
    init(reading error: any Error) {
        switch error {
        case let error as TransferFailure: self = error
        case let error as JSONSyntaxError: self = .malformed(error.reason)
        case let error as JSONMemberError: self = .malformed(error.reason)
        default: self = .malformed(JSONSyntaxError.malformed.reason)
        }
    }
}

extension JSONCursor {
    /// Returns the bytes of a string in base64url without padding.
    ///
    /// - Parameter limit: The maximum number of bytes.
    func bytes(atMost limit: Int) throws -> [UInt8] {
        guard let bytes = Base64URL.decode(try text, maximumLength: limit) else {
            throw TransferFailure.malformed("\(path) is not base64url of at most \(limit) bytes")
        }
        return bytes
    }

    /// Returns the value of a fixed length from a string in base64url.
    func value<Value: FixedLengthBytes>(_: Value.Type) throws -> Value {
        guard let value = Value(bytes: try bytes(atMost: Value.length)) else {
            throw TransferFailure.malformed("\(path) has not \(Value.length) bytes")
        }
        return value
    }
}
