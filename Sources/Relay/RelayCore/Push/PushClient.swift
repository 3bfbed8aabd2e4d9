// SPDX-License-Identifier: Apache-2.0

/// A request to a push server (RFC 8030 §5).
public struct PushRequest: Sendable {
    /// URL of the push resource; a secret.
    public let endpoint: String
    /// Names and values of the header fields.
    public let fields: [(String, String)]
    /// The encrypted message.
    public let body: [UInt8]
    /// Number of the party that caused the request; `nil` if it is not known.
    public let party: Int?
    /// True for a message whose receiver has not proven that it wants messages.
    public let isProof: Bool
}

/// The result of a request to a push server.
public enum PushResponse: Hashable, Sendable {
    /// The push server answered with this HTTP status.
    case status(Int)
    /// The endpoint leads to an address that is not permitted; nothing was sent.
    case notPermitted
    /// The relay sends too many requests; nothing was sent.
    case busy
    /// There was no valid response in time.
    case failed
}

/// Requests to push servers, which phones choose.
///
/// An implementation decides which hosts and addresses are permitted, so that a phone cannot aim a request into the
/// relay's own network.
public protocol PushClient: Sendable {
    /// Returns the origin of an endpoint, as in `https://push.example`; `nil` if its URL is malformed or not permitted.
    ///
    /// No name is resolved.
    func origin(of endpoint: String) -> String?

    /// Sends a request and returns the result, within five seconds, or sooner if the task is canceled.
    func post(_ request: PushRequest) async -> PushResponse
}

/// The result of a message for a push server, which determines the metric label.
enum PushOutcome: String, CaseIterable, Sendable {
    /// The push server accepted the message.
    case accepted
    /// The push server does not know the subscription any more (404 or 410).
    case gone
    /// The push server refused the message for another reason.
    case refused
    /// The push server is overloaded or defective, or could not be reached.
    case failed
    /// The endpoint leads to an address that is not permitted.
    case notPermitted = "not_permitted"
    /// A limit was reached: of the push server's host, of the party that caused the message, of all messages on their way,
    /// or of name lookups.
    case limited
    /// The relay is shutting down.
    case canceled

    init(_ response: PushResponse) {
        self =
            switch response {
            case .status(200...299): .accepted
            case .status(404), .status(410): .gone
            case .status(429), .status(500...599), .failed: .failed
            case .status: .refused
            case .notPermitted: .notPermitted
            case .busy: .limited
            }
    }
}
