// SPDX-License-Identifier: Apache-2.0

public import HybridBLEAdvert
internal import HybridCaBLE
public import HybridDataChannel
public import HybridPrimitives

/// The reason why an authenticator served no client.
public struct AuthenticatorSessionFailure: ExplainedFailure, Hashable {
    /// Cause for programs; it never changes.
    public let code: String
    /// Cause and remedy on one line.
    public let sentence: String
    /// Exit status of a command that ends with this failure.
    public let status: ExitStatus

    private init(_ code: String, _ status: ExitStatus, _ sentence: String) {
        self.code = code
        self.sentence = sentence
        self.status = status
    }

    /// Bluetooth cannot be used.
    public static func radio(_ error: RadioError) -> AuthenticatorSessionFailure {
        AuthenticatorSessionFailure(error.code, error.status, error.sentence)
    }

    /// The relay cannot be used.
    public static func relay(_ error: TunnelError) -> AuthenticatorSessionFailure {
        AuthenticatorSessionFailure(error.code, error.status, error.sentence)
    }

    /// No client answered the advert in time.
    public static let noClient = AuthenticatorSessionFailure(
        "client-not-nearby",
        .temporary,
        "the device that shows the code did not find this one; go nearer, check that its Bluetooth is on, and scan again"
    )

    /// The tunnel was closed before a client joined it: it expired, or the relay is shutting down.
    public static let tunnelExpired = AuthenticatorSessionFailure(
        "tunnel-expired",
        .temporary,
        "the tunnel was closed before the other device joined it; scan the code again"
    )

    /// A client without the code, or out of radio range, joined the tunnel; it got no answer.
    public static let notVerified = AuthenticatorSessionFailure(
        "client-not-verified",
        .dataError,
        "a device joined the tunnel without proof that it is nearby; nothing was answered, scan a new code"
    )

    /// A verified client sent no request in time.
    public static let clientSilent = AuthenticatorSessionFailure(
        "client-silent",
        .temporary,
        "the other device connected but sent no request; scan a new code"
    )

    /// A verified client broke the protocol in this way.
    public static func clientMisbehaved(_ how: String) -> AuthenticatorSessionFailure {
        AuthenticatorSessionFailure(
            "client-misbehaved",
            .dataError,
            "the other device broke the protocol: \(how); update its browser"
        )
    }

    /// A fault of this program.
    public static func internalFault(_ text: String) -> AuthenticatorSessionFailure {
        AuthenticatorSessionFailure("internal-fault", .software, "internal fault: \(text); please report it")
    }

    /// Runs `body` and converts each error except `CancellationError` to an ``AuthenticatorSessionFailure``.
    static func wrapping<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as CancellationError {
            throw error
        } catch let error as AuthenticatorSessionFailure {
            throw error
        } catch let error as RadioError {
            throw radio(error)
        } catch let error as TunnelError {
            if error.closeCode != nil { throw tunnelExpired }
            throw error == .messageRefused ? clientMisbehaved("a message can't be opened") : relay(error)
        } catch let error as HandshakeError {
            throw error == .outOfOrder ? internalFault("\(error)") : notVerified
        } catch is ChannelMessage.ParseError {
            throw clientMisbehaved("a message can't be read")
        } catch {
            throw internalFault("\(error)")
        }
    }
}
