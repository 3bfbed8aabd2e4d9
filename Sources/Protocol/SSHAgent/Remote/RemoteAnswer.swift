// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// The answer to a ``RemoteMessage``: JSON with the member `response` or `error`.
public enum RemoteAnswer: Sendable {
    /// The `RegistrationResponseJSON` or `AuthenticationResponseJSON` for the website.
    case response(JSONText)
    /// No response.
    case failure(Failure)

    /// A failure: what the page learns, and what the other host learns.
    public struct Failure: Error, Sendable, Equatable {
        /// The name of the exception for the page.
        public let name: String
        /// The cause.
        public let code: RemoteFailureCode

        /// The message for the page and the user of the browser.
        public var message: String {
            name == "InvalidStateError" ? "the phone already has a passkey for this account" : code.message
        }

        /// Creates a failure.
        ///
        /// - Parameters:
        ///   - code: The cause.
        ///   - name: The name of the exception for the page.
        public init(_ code: RemoteFailureCode, name: String = "NotAllowedError") {
            (self.code, self.name) = (code, name)
        }
    }

    /// Creates an answer from its encoding; `nil` if it is malformed or longer than ``RemoteMessage/maximumLength``.
    public init?(parsing bytes: [UInt8]) {
        guard bytes.count <= RemoteMessage.maximumLength, let document = try? JSONText(parsing: bytes) else {
            return nil
        }
        if let response = document.member("response"), response.isObject, document.member("error") == nil {
            self = .response(response)
        } else if let error = document.member("error"), let name = error.member("name")?.text,
            let code = error.member("code")?.text.flatMap(RemoteFailureCode.init)
        {
            self = .failure(Failure(code, name: name))
        } else {
            return nil
        }
    }

    /// The JSON.
    public var json: JSONText {
        switch self {
        case .response(let response): .object([("response", response)])
        case .failure(let failure):
            .object([
                (
                    "error",
                    .object([
                        ("name", .string(failure.name)), ("code", .string(failure.code.rawValue)),
                        ("message", .string(failure.message)),
                    ])
                )
            ])
        }
    }

    /// The encoding.
    public var encoded: [UInt8] { Array(json.description.utf8) }
}

/// The cause of a failure, as the other host learns it.
public enum RemoteFailureCode: String, Sendable, CaseIterable {
    /// The user, the permissions or a limit on the other computer prevent it; the host does not learn which.
    case refused
    /// The user or the phone did not answer in time.
    case timedOut = "timed-out"
    /// The request is malformed, or its origin may not use the domain; no host could have it performed.
    case unusable
    /// The ceremony failed.
    case failed

    var message: String {
        switch self {
        case .refused: "not confirmed on the computer with the phone"
        case .timedOut: "there was no answer in time"
        case .unusable: "the request can't be sent to a phone"
        case .failed: "the sign-in with the phone did not succeed; see hybrid-key log there"
        }
    }
}
