// SPDX-License-Identifier: Apache-2.0

public import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
public import HybridDataChannel
public import HybridPrimitives

/// The reason why a client received no response.
public struct ClientFailure: ExplainedFailure, Hashable {
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
    public static func radio(_ error: RadioError) -> ClientFailure {
        ClientFailure(error.code, error.status, error.sentence)
    }

    /// The relay cannot be used.
    public static func relay(_ error: TunnelError) -> ClientFailure {
        ClientFailure(error.code, error.status, error.sentence)
    }

    /// No advert was received in time.
    public static let phoneNotNearby = ClientFailure(
        "phone-not-nearby",
        .temporary,
        "no phone was found nearby; scan the code with a phone that has Bluetooth on and is within a few meters"
    )

    /// The phone uses a relay that this client cannot resolve.
    public static let unknownRelay = ClientFailure(
        "relay-unknown",
        .unavailable,
        "the phone uses a relay that this program does not know; update it"
    )

    /// The phone did not answer the handshake in time.
    public static let phoneSilent = ClientFailure(
        "phone-silent",
        .temporary,
        "the phone was found but did not respond in time; try again with a new code"
    )

    /// The phone's user did not answer in time.
    public static let userTimedOut = ClientFailure(
        "not-confirmed-in-time",
        .temporary,
        "the request was not confirmed on the phone in time; try again with a new code"
    )

    /// The phone left before it answered.
    public static let phoneVanished = ClientFailure(
        "phone-vanished",
        .temporary,
        "the phone disconnected before it answered; try again with a new code"
    )

    /// The phone or the relay disconnected before the phone answered.
    ///
    /// Relays use the same close code for both.
    public static let phoneOrRelayVanished = ClientFailure(
        "phone-vanished",
        .temporary,
        "the phone or the relay disconnected before the phone answered; try again with a new code"
    )

    /// Another device answered, or the phone scanned another code.
    public static let notThisPhone = ClientFailure(
        "not-this-phone",
        .dataError,
        "a device that did not scan this code tried to answer it; try again with a new code"
    )

    /// The phone does not support passkeys over this channel.
    public static let phoneLacksCTAP = ClientFailure(
        "phone-lacks-passkeys",
        .dataError,
        "the phone can't use its passkeys for another device; update it, or use another phone"
    )

    /// The phone broke the protocol in this way.
    public static func phoneMisbehaved(_ how: String) -> ClientFailure {
        ClientFailure(
            "phone-misbehaved",
            .dataError,
            "the phone broke the protocol: \(how); update it, or use another phone"
        )
    }

    /// A fault of this program.
    public static func internalFault(_ text: String) -> ClientFailure {
        ClientFailure("internal-fault", .software, "internal fault: \(text); please report it")
    }

    /// Runs `body` and converts each error except `CancellationError` to a ``ClientFailure``.
    static func wrapping<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as CancellationError {
            throw error
        } catch let error as ClientFailure {
            throw error
        } catch let error as TunnelError {
            switch ChannelCloseReason(error) {
            case .peerClosed: throw phoneVanished
            case .goneAway: throw phoneOrRelayVanished
            default: throw error == .messageRefused ? phoneMisbehaved("a message can't be opened") : relay(error)
            }
        } catch let error as HandshakeError {
            throw error == .outOfOrder ? internalFault("\(error)") : notThisPhone
        } catch is PostHandshakeMessage.ParseError {
            throw phoneMisbehaved("its first message can't be read")
        } catch is ChannelMessage.ParseError {
            throw phoneMisbehaved("a message can't be read")
        } catch is CTAPResponseError {
            throw phoneMisbehaved("its answer can't be read")
        } catch {
            throw internalFault("\(error)")
        }
    }
}
