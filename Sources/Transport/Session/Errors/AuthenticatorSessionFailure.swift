// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridDataChannel
public import HybridPrimitives

/// The reason why an authenticator served no client.
public struct AuthenticatorSessionFailure: SessionFailure, Hashable {
    /// A stable identifier of the cause, for programs.
    public let code: String
    /// Cause and remedy on one line.
    public let sentence: String
    /// Exit status of a command that ends with this failure.
    public let status: ExitStatus
    /// True if the remedy is to scan a code, which a linked client does not show.
    private let needsCode: Bool

    init(_ code: String, _ sentence: String, status: ExitStatus) {
        self.init(code, sentence, status: status, needsCode: false)
    }

    private init(_ code: String, _ sentence: String, status: ExitStatus = .temporary, needsCode: Bool = false) {
        (self.code, self.sentence, self.status, self.needsCode) = (code, sentence, status, needsCode)
    }

    /// No client answered the advert in time.
    public static let noClient = Self(
        "client-not-nearby",
        "the device that shows the code did not find this one; move closer, check that its Bluetooth is on, and scan "
            + "again",
        needsCode: true
    )

    /// The linked computer did not answer the advert in time.
    public static let computerNotNearby = Self(
        "client-not-nearby",
        "the computer did not find this device; move closer, check that its Bluetooth is on, and start again on the "
            + "computer"
    )

    /// The tunnel was closed before a client joined it: it expired, or the relay is shutting down.
    public static let tunnelExpired = Self(
        "tunnel-expired",
        "the tunnel was closed before the other device joined it; scan the code again",
        needsCode: true
    )

    /// A device joined the tunnel without proof that it has the code and is nearby; it received no response.
    public static let notVerified = Self(
        "client-not-verified",
        "a device joined the tunnel without proof that it is nearby; nothing was answered, scan a new code",
        status: .dataError,
        needsCode: true
    )

    /// A verified client sent no request in time.
    public static let clientSilent = Self(
        "client-silent",
        "the other device connected but sent no request; scan a new code",
        needsCode: true
    )

    /// A verified client violated the protocol; `how` is a clause for the sentence.
    public static func clientMisbehaved(_ how: String) -> Self {
        Self(
            "client-misbehaved",
            "the other device violated the protocol: \(how); update its browser",
            status: .dataError
        )
    }

    /// Runs the session of a linked client and converts its error as ``wrapping(_:)`` does.
    ///
    /// There is no code to scan again, so the remedy is another one.
    static func wrappingLinked<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await wrapping(body)
        } catch let failure as Self where failure.needsCode {
            throw failure.withLinkedRemedy
        }
    }

    /// The failure with the remedy for a session that a linked computer started.
    private var withLinkedRemedy: Self {
        let cause = sentence.utf8.firstRange(of: "; ".utf8).map { sentence[..<$0.lowerBound] } ?? sentence[...]
        return Self(code, "\(cause); start again on the computer", status: status)
    }

    /// A bug in this program.
    public static func internalFault(_ text: String) -> Self {
        Self("internal-fault", "internal fault: \(text); please report it", status: .software)
    }

    static func explaining(_ error: any Error) -> Self? {
        switch error {
        case let error as TunnelError where error.closeCode != nil: tunnelExpired
        case let error as TunnelError where error == .messageRefused: clientMisbehaved("a message can't be opened")
        case let error as TunnelError where [.tunnelNotFound, .stalled, .connectionLost].contains(error):
            Self(error.code, error.sentence, status: error.status, needsCode: true)
        case is HandshakeError: notVerified
        case is ChannelMessage.ParseError: clientMisbehaved("a message can't be read")
        default: nil
        }
    }
}
