// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridCaBLE
internal import HybridPrimitives

/// A request for a tunnel, or of a phone that listens: a WebSocket upgrade (RFC 6455 §4.2.1) to one of the paths.
public struct UpgradeRequest: Hashable, Sendable {
    /// The requested path.
    public let path: TunnelPath
    /// The result of comparing `Origin` with `Host`.
    public let origin: OriginCheck
    /// The bytes for the phone that a client contacts; `nil` for other paths.
    public let payload: ClientPayload?
    /// True if a client that contacts a phone asks for a signal when the phone has joined.
    public let signalsConnection: Bool
    /// Number of times that a load balancer wants an answer at once if a contacted phone does not listen at this node; 0
    /// from all other peers.
    public let peeks: UInt8
    /// The hash of the token in `Authorization`, or the reason for refusing the credentials if a token is required.
    private let token: Result<TunnelTokenHash?, UpgradeRefusal>
    /// `Sec-WebSocket-Key`, 24 characters of base64.
    private let key: [UInt8]

    /// Parses a complete request head, from the method to the empty line.
    ///
    /// The bytes may be arbitrary. The error is the first violated rule, in this order: HTTP syntax, path, method,
    /// body, IDs, upgrade, subprotocol, payload. Rules that depend on the relay's configuration and state are checked
    /// later, starting with ``checkOrigin()``. For new tunnels and phones that listen, they continue with the drain,
    /// ``bearerToken()``, the token itself and the rate of the source. The limit on tunnels, or the existence of the
    /// tunnel, is checked last.
    ///
    /// - Parameters:
    ///   - head: The request head.
    ///   - isFromBalancer: True if the peer is a trusted load balancer, which alone may ask for an answer at once. From
    ///     all others, the field is ignored: it would tell if a phone listens, without a wake-up.
    public init(parsing head: [UInt8], fromBalancer isFromBalancer: Bool = false) throws(UpgradeRefusal) {
        let head = try RequestHead(parsing: head)
        guard let field = try head.value(of: .host), OriginCheck.isHost(field) else { throw .missingHost }
        let host = head.authority ?? field
        guard head.authority == nil || OriginCheck.isHost(host) else { throw .missingHost }
        let path = Self.path(of: head)
        if case .failure(let refusal) = path, refusal.status == 404 { throw refusal }
        guard head.method.equals("GET") else { throw .methodNotAllowed }
        let length = try head.value(of: .contentLength)
        guard !head.has(.transferEncoding), length?.equals("0") != false else { throw .bodyNotAllowed }
        self.path = try path.get()
        guard head.list(.upgrade, contains: "websocket"), head.list(.connection, contains: "upgrade") else {
            throw .upgradeRequired
        }
        guard try head.value(of: .webSocketVersion)?.equals("13") == true else {
            throw .unsupportedWebSocketVersion
        }
        guard let key = try head.value(of: .webSocketKey), Self.isKey(key) else { throw .malformedKey }
        if case .listen = self.path {
            guard head.list(.webSocketProtocol, contains: "hybrid-relay.listen.v1") else {
                throw .missingListenProtocol
            }
        } else {
            guard head.list(.webSocketProtocol, contains: "fido.cable") else { throw .missingSubprotocol }
        }
        if case .contact = self.path {
            (payload, signalsConnection) = try Self.contactFields(of: head)
            peeks = isFromBalancer ? Self.peeks(try head.value(of: .peek)) : 0
        } else {
            (payload, signalsConnection, peeks) = (nil, false, 0)
        }
        self.key = Array(key)
        origin = OriginCheck(origins: head.values(of: .origin), host: host)
        token = TunnelTokenHash.bearerToken(in: head.values(of: .authorization))
    }

    /// Returns the fields of a client that contacts a phone.
    private static func contactFields(of head: RequestHead) throws(UpgradeRefusal) -> (ClientPayload, Bool) {
        let signal = try head.value(of: .signalConnection)
        guard let digits = try head.value(of: .clientPayload), let payload = ClientPayload(hexDigits: digits) else {
            throw .malformedPayload
        }
        return (payload, signal?.equalsIgnoringCase("true") == true)
    }

    /// Returns the number in a field; 0 for any other text.
    private static func peeks(_ value: ArraySlice<UInt8>?) -> UInt8 {
        guard let value else { return 0 }
        return value.equals("1") ? 1 : value.equals("2") ? 2 : 0
    }

    /// A Boolean value that indicates whether the request may be processed in TLS early data, which an attacker can replay
    /// (RFC 8470 §2).
    ///
    /// The phone refuses a replayed wake-up because of its nonce. A replayed request to join finds no tunnel that waits. If
    /// it arrives first, it takes the phone's place for a few seconds, and the sign-in fails.
    public var isSafeInEarlyData: Bool {
        switch path {
        case .contact, .connect: true
        case .new, .listen: false
        }
    }

    /// Throws ``UpgradeRefusal/forbiddenOrigin`` if the request comes from a page of another host.
    public func checkOrigin() throws(UpgradeRefusal) {
        guard origin != .otherHost else { throw .forbiddenOrigin }
    }

    /// Returns the hash of the token in `Authorization`; `nil` if there are no credentials or they have another scheme.
    ///
    /// A malformed token is refused like a wrong one.
    public func bearerToken() throws(UpgradeRefusal) -> TunnelTokenHash? { try token.get() }

    /// Returns the response that switches to WebSocket, with the routing ID for a phone.
    public func response(routing: RoutingID?) -> [UInt8] {
        var response: [UInt8] = []
        response.reserveCapacity(256)
        response += Self.statusAndUpgrade
        appendAccept(to: &response)
        if case .listen = path { response += Self.listenProtocolField } else { response += Self.protocolField }
        if signalsConnection { response += Self.signalField }
        if let routing {
            response += Self.routingField
            response += routing.hex.utf8
        }
        response += [0x0D, 0x0A, 0x0D, 0x0A]
        return response
    }

    private static let statusAndUpgrade = Array(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ".utf8
    )
    private static let protocolField = Array("\r\nSec-WebSocket-Protocol: \(TunnelPath.subprotocol)".utf8)
    private static let listenProtocolField = Array("\r\nSec-WebSocket-Protocol: \(ListenMessage.subprotocol)".utf8)
    private static let signalField = Array("\r\n\(TunnelPath.signalConnectionHeader): true".utf8)
    private static let routingField = Array("\r\n\(TunnelPath.routingIDHeader): ".utf8)

    /// Appends the value of `Sec-WebSocket-Accept`: base64 of SHA-1 of the key and a fixed text (RFC 6455 §4.2.2).
    ///
    /// It proves only that the server implements WebSocket, so the weakness of SHA-1 does not matter here.
    private func appendAccept(to response: inout [UInt8]) {
        var hash = Insecure.SHA1()
        // The generic `update(data:)` takes several times as long.
        key.withUnsafeBytes { hash.update(bufferPointer: $0) }
        Self.acceptSuffix.withUnsafeBytes { hash.update(bufferPointer: $0) }
        hash.finalize().withUnsafeBytes { response += Base64.encode($0) }
    }

    private static let acceptSuffix = Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)

    private static func path(of head: RequestHead) -> Result<TunnelPath, UpgradeRefusal> {
        do {
            return .success(try TunnelPath(parsing: head.target))
        } catch {
            switch error {
            case .malformedID: return .failure(.malformedID)
            default: return .failure(.notOurPath)
            }
        }
    }

    /// Returns true if `text` is base64 of 16 bytes: 22 characters and two equals signs.
    private static func isKey(_ text: ArraySlice<UInt8>) -> Bool {
        text.count == 24 && text.suffix(2).equals("==") && text.dropLast(2).allSatisfy(\.isInBase64)
    }
}

extension UInt8 {
    fileprivate var isInBase64: Bool { isLetter || isDigit || self == UInt8(ascii: "+") || self == UInt8(ascii: "/") }
}
