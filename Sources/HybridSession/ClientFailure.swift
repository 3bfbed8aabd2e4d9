// SPDX-License-Identifier: Apache-2.0

public import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
public import HybridDataChannel

/// Why a client got no answer; each cause has another remedy.
public enum ClientFailure: Error, Equatable, Sendable {
    /// Bluetooth can't be used.
    case radio(RadioError)
    /// No phone was heard in time.
    case phoneNotNearby
    /// The phone uses a relay this client can't resolve.
    case unknownRelay
    /// The relay could not be used.
    case relay(TunnelError)
    /// The phone did not go on in time.
    case phoneSilent
    /// The phone's user did not answer in time.
    case userTimedOut
    /// The phone left before the answer.
    case phoneVanished
    /// The phone, or the relay, went away without a word before the answer: relays say the same for both.
    case phoneOrRelayVanished
    /// Somebody else answered, or the phone read another QR.
    case notThisPhone
    /// The phone can't create or use passkeys over this channel.
    case phoneLacksCTAP
    /// The phone broke the protocol; the text says how.
    case phoneMisbehaved(String)
    /// A fault of this program.
    case internalFault(String)
}

/// Turns whatever ends a ceremony into a ``ClientFailure``; cancellation stays what it is.
func explaining<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
        return try await body()
    } catch let error as CancellationError {
        throw error
    } catch let error as ClientFailure {
        throw error
    } catch let error as TunnelError {
        switch ChannelCloseReason(error) {
        case .goodbye: throw ClientFailure.phoneVanished
        case .goneAway: throw ClientFailure.phoneOrRelayVanished
        default:
            throw error == .messageRefused
                ? ClientFailure.phoneMisbehaved("a message can't be opened") : ClientFailure.relay(error)
        }
    } catch let error as HandshakeError {
        throw error == .outOfOrder ? ClientFailure.internalFault("\(error)") : ClientFailure.notThisPhone
    } catch is PostHandshakeMessage.ParseError {
        throw ClientFailure.phoneMisbehaved("its first message can't be read")
    } catch is ChannelMessage.ParseError {
        throw ClientFailure.phoneMisbehaved("a message can't be read")
    } catch is CTAPResponseError {
        throw ClientFailure.phoneMisbehaved("its answer can't be read")
    } catch {
        throw ClientFailure.internalFault("\(error)")
    }
}
