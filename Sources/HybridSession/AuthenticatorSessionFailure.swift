// SPDX-License-Identifier: Apache-2.0

public import HybridBLEAdvert
internal import HybridCaBLE
public import HybridDataChannel

/// Why a phone served no client; each cause has another remedy.
public enum AuthenticatorSessionFailure: Error, Equatable, Sendable {
    /// Bluetooth can't be used.
    case radio(RadioError)
    /// The relay could not be used.
    case relay(TunnelError)
    /// No client answered the advert in time.
    case noClient
    /// The tunnel was closed before a client came: it expired, or the relay goes down.
    case tunnelExpired
    /// Somebody without the QR or out of radio range tried the tunnel; nothing was answered.
    case notVerified
    /// A verified client asked for nothing in time.
    case clientSilent
    /// A verified client broke the protocol; the text says how.
    case clientMisbehaved(String)
    /// A fault of this program.
    case internalFault(String)
}

/// Turns whatever ends a session into an ``AuthenticatorSessionFailure``; cancellation stays what it is.
func explainingAuthenticator<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
        return try await body()
    } catch let error as CancellationError {
        throw error
    } catch let error as AuthenticatorSessionFailure {
        throw error
    } catch let error as RadioError {
        throw AuthenticatorSessionFailure.radio(error)
    } catch let error as TunnelError {
        switch error {
        case .closed: throw AuthenticatorSessionFailure.tunnelExpired
        case .messageRefused: throw AuthenticatorSessionFailure.clientMisbehaved("a message can't be opened")
        default: throw AuthenticatorSessionFailure.relay(error)
        }
    } catch let error as HandshakeError {
        throw error == .outOfOrder
            ? AuthenticatorSessionFailure.internalFault("\(error)") : AuthenticatorSessionFailure.notVerified
    } catch is ChannelMessage.ParseError {
        throw AuthenticatorSessionFailure.clientMisbehaved("a message can't be read")
    } catch {
        throw AuthenticatorSessionFailure.internalFault("\(error)")
    }
}

extension TunnelError {
    /// Whether the code of the close frame says that a message was text or too long.
    ///
    /// This project's relay tells that only to the end that sent it; others tell both.
    var tellsOfBadMessage: Bool {
        switch self {
        case .closed(code: 1003), .closed(code: 1009): true
        default: false
        }
    }
}
