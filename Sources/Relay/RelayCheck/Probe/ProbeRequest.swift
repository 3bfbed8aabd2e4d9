// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials
internal import HybridCaBLE
internal import HybridNetwork
internal import NIOCore

/// A WebSocket request, with the deviations of a check.
struct ProbeRequest: Sendable {
    var method = "GET"
    var path: String
    var subprotocol: String? = TunnelPath.subprotocol
    var requestsUpgrade = true
    /// True if the request carries the token, if there is one; by default, only the requests of phones that open a
    /// tunnel or wait for wake-ups do.
    var carriesToken: Bool
    /// Names and values of further header fields.
    var fields: [(name: String, value: String)] = []
    let key = Data((0..<16).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()

    init(_ path: String) {
        self.path = path
        carriesToken = path.hasPrefix("/cable/new/") || path.hasPrefix("/cable/listen/")
    }

    /// Returns the request, which is secret if it contains a token.
    func bytes(host: String, token: BearerToken? = nil) -> [UInt8] {
        var lines = ["\(method) \(path) HTTP/1.1", "Host: \(host)", "User-Agent: \(UserAgent.text)"]
        if requestsUpgrade {
            lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
            lines.append("Sec-WebSocket-Key: \(key)")
        }
        if let subprotocol { lines.append("Sec-WebSocket-Protocol: \(subprotocol)") }
        lines += fields.map { "\($0.name): \($0.value)" }
        let text = lines.joined(separator: "\r\n") + "\r\n"
        guard carriesToken, let token else { return Array((text + "\r\n").utf8) }
        return token.withUnsafeBytes { token in
            let (field, ending) = ("Authorization: Bearer ".utf8, "\r\n\r\n".utf8)
            var bytes: [UInt8] = []
            // A reallocation would leave a copy behind.
            bytes.reserveCapacity(text.utf8.count + field.count + token.count + ending.count)
            bytes += text.utf8
            bytes += field
            bytes += token
            bytes += ending
            return bytes
        }
    }

    /// The value of `Sec-WebSocket-Accept` for the key (RFC 6455 §4.2.2); here, SHA-1 serves no security purpose.
    var accept: String {
        let text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        return Data(Insecure.SHA1.hash(data: Array(text.utf8))).base64EncodedString()
    }
}

/// The head of a response, parsed leniently.
struct ProbeResponse: Sendable {
    let status: Int
    private let fields: [(name: String, value: String)]

    private static let maximumLength = 16 << 10

    /// The status for users, with the target if it is a redirection.
    var summary: String {
        guard (300...399).contains(status), let target = values(of: "Location").first else { return "\(status)" }
        return "\(status), a redirection to \"\(target.prefix(80))\", which clients do not follow"
    }

    /// Returns the values of a field, in order; the case of the name is ignored.
    func values(of name: String) -> [String] {
        fields.filter { $0.name == name.lowercased() }.map(\.value)
    }

    /// The routing ID, if there is a valid one.
    var routingID: RoutingID? { values(of: TunnelPath.routingIDHeader).first.flatMap { RoutingID(hex: $0) } }

    /// Returns true if a comma-separated field contains `item`, which must be in lower case; case is ignored.
    func list(_ name: String, contains item: String) -> Bool {
        values(of: name).flatMap { $0.split(separator: ",") }.contains { $0.trimmed.lowercased() == item }
    }

    /// Takes a head from the front of the bytes; `nil` if it is incomplete.
    ///
    /// Interim responses, which a proxy in front of the relay may send, are skipped (RFC 9110 §15.2).
    static func take(from bytes: inout ByteBuffer) throws(ProbeError) -> ProbeResponse? {
        while let response = try next(in: &bytes) {
            if !(100...199).contains(response.status) || response.status == 101 { return response }
        }
        return nil
    }

    private static func next(in bytes: inout ByteBuffer) throws(ProbeError) -> ProbeResponse? {
        let all = bytes.readableBytesView.prefix(maximumLength)
        guard let end = all.firstRange(of: Array("\r\n\r\n".utf8)) else {
            guard bytes.readableBytes < maximumLength else {
                throw .malformed("a response head of more than \(maximumLength >> 10) KiB")
            }
            return nil
        }
        let text = String(decoding: all[all.startIndex..<end.lowerBound], as: UTF8.self)
        bytes.moveReaderIndex(to: end.upperBound)
        return try ProbeResponse(head: text)
    }

    private init(head: String) throws(ProbeError) {
        var lines = head.split(separator: "\r\n")
        guard let first = lines.first, first.hasPrefix("HTTP/1.") else { throw .malformed("no HTTP/1.1 response") }
        lines.removeFirst()
        guard let word = first.split(separator: " ").dropFirst().first, word.count == 3,
            word.allSatisfy(\.isASCII), word.allSatisfy(\.isNumber), let status = Int(word)
        else { throw .malformed("a status line without a status") }
        self.status = status
        fields = lines.compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (line[..<colon].lowercased(), String(line[line.index(after: colon)...].trimmed))
        }
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var rest = self
        while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
        return rest.drop { $0 == " " || $0 == "\t" }
    }
}
