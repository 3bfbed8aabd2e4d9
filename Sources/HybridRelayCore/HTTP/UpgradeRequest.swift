// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
public import NIOCore

/// A request for a tunnel: a WebSocket upgrade (RFC 6455 §4.2.1) to one of the tunnel paths.
public struct UpgradeRequest: Hashable, Sendable {
    /// What the end asks for.
    public let path: TunnelPath
    /// What `Origin`, if sent, says.
    public let origin: OriginCheck
    /// What `Authorization`, if sent, brings; of a token only the hash.
    private let credentials: BearerCredentials
    /// `Sec-WebSocket-Key`, 24 characters of base64.
    private let key: [UInt8]

    /// Reads a whole request head, from the method to the empty line.
    ///
    /// Any bytes may be given. The refusal thrown is that of the first rule broken, in this order: HTTP's own
    /// syntax, the path, the method, the body, the IDs, the upgrade, the sub-protocol. Rules that depend on how the relay is set up
    /// come after all these, with ``checkOrigin()`` first, and for new tunnels the drain, ``bearerToken()``, the token
    /// itself, the rate of the source, and last whether there is room, or whether there is such a tunnel.
    public init(parsing head: [UInt8]) throws(UpgradeRefusal) {
        let head = try RequestHead(parsing: head)
        guard let host = try head.value(of: .host), !host.isEmpty else { throw .missingHost }
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
        guard head.list(.webSocketProtocol, contains: "fido.cable") else { throw .missingSubprotocol }
        self.key = Array(key)
        origin = OriginCheck(origins: head.values(of: .origin), host: host)
        credentials = BearerCredentials(fields: head.values(of: .authorization))
    }

    /// Throws unless the request comes from no page, or from a page of the very host that it is for.
    public func checkOrigin() throws(UpgradeRefusal) {
        guard origin != .otherHost else { throw .forbiddenOrigin }
    }

    /// The token in `Authorization`; `nil` if there is none, or credentials of another scheme.
    ///
    /// What can't be anybody's token is refused as a wrong one.
    public func bearerToken() throws(UpgradeRefusal) -> BearerToken? {
        switch credentials {
        case .absent: nil
        case .token(let token): token
        case .malformed: throw .tokenWrong
        case .repeated: throw .duplicateField
        }
    }

    /// The response that switches to WebSocket; a phone is told its routing ID.
    public func response(routing: RoutingID?) -> ByteBuffer {
        var response = ByteBufferAllocator().buffer(capacity: 256)
        response.writeStaticString(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
        )
        WebSocketAccept.write(for: key, to: &response)
        response.writeBytes(Self.protocolField)
        if let routing {
            response.writeBytes(Self.routingField)
            response.writeString(routing.hex)
        }
        response.writeStaticString("\r\n\r\n")
        return response
    }

    private static let protocolField = Array("\r\nSec-WebSocket-Protocol: \(TunnelPath.subprotocol)".utf8)
    private static let routingField = Array("\r\n\(TunnelPath.routingIDHeader): ".utf8)

    private static func path(of head: RequestHead) -> Result<TunnelPath, UpgradeRefusal> {
        do {
            return .success(try TunnelPath(parsing: head.target))
        } catch {
            switch error {
            case .unknownPath: return .failure(.notOurPath)
            case .malformedID: return .failure(.malformedID)
            case .contactNotOffered: return .failure(.contactNotOffered)
            }
        }
    }

    /// Whether `text` is base64 of 16 bytes: 22 characters and two signs of equality.
    private static func isKey(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.count == 24, text.suffix(2).equals("==") else { return false }
        for place in text.startIndex..<(text.endIndex - 2) where !text[place].isInBase64 { return false }
        return true
    }
}

extension UInt8 {
    fileprivate var isInBase64: Bool {
        if (self | 0x20) &- 0x61 < 26 { return true }
        return (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) || self == UInt8(ascii: "+")
            || self == UInt8(ascii: "/")
    }
}
