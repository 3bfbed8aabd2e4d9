// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridRelayCore
import NIOCore
import NIOEmbedded
import NIOHTTP1
import TestSupport

/// Checks that a request head is read the same in one piece and in pieces of the first byte's size.
///
/// Another parser must understand an accepted request in the same way, so that a proxy cannot see another request.
func fuzzWebSocketRequest(_ input: [UInt8]) throws -> Bool {
    guard let size = input.first.map({ Int($0) + 1 }) else { return false }
    let bytes = Array(input.dropFirst())
    let whole = Outcome(bytes, pieces: bytes.count + 1)
    try invariant(Outcome(bytes, pieces: size) == whole, "pieces must not matter")
    switch whole {
    case .incomplete: return false
    case .refused(let refusal):
        try invariant(
            refusal.response.hasSuffix("\n") && (400..<600).contains(refusal.status),
            "a refusal is an HTTP response"
        )
        return false
    case .accepted(let request, let behind):
        let head = Array(bytes.dropLast(behind))
        let again = try UpgradeRequest(parsing: head, fromBalancer: true)
        try invariant(again == request, "a head can be read without the bytes after it")
        try invariant(try UpgradeRequest(parsing: head).peeks == 0, "a client cannot ask as load balancers do")
        try checkWithOtherParser(head, request)
        return true
    }
}

/// The request and the number of bytes after it, the refusal, or an incomplete head.
private enum Outcome: Equatable {
    case accepted(UpgradeRequest, behind: Int)
    case refused(UpgradeRefusal)
    case incomplete

    init(_ bytes: [UInt8], pieces size: Int) {
        var reader = RequestHeadReader(maximumLength: 8192)
        var read = 0
        for piece in bytes.pieces(of: size) {
            read += piece.count
            do throws(UpgradeRefusal) {
                if let length = try reader.length(of: bytes.span.extracting(first: read).bytes) {
                    let request = try UpgradeRequest(parsing: Array(bytes[..<length]), fromBalancer: true)
                    self = .accepted(request, behind: bytes.count - length)
                    return
                }
            } catch {
                self = .refused(error)
                return
            }
        }
        self = .incomplete
    }
}

private func checkWithOtherParser(_ head: [UInt8], _ request: UpgradeRequest) throws {
    let channel = EmbeddedChannel(handler: ByteToMessageHandler(HTTPRequestDecoder()))
    defer { _ = try? channel.finish() }
    do {
        try channel.writeInbound(ByteBuffer(bytes: head))
    } catch HTTPParserError.invalidContentLength {
        // That parser rejects a tab after the number, which is valid.
        return
    }
    guard case .head(let other)? = try channel.readInbound(as: HTTPServerRequestPart.self) else {
        throw BrokenInvariant(description: "broken: another parser finds a head there")
    }
    try invariant(other.method == .GET && other.version == .http1_1, "another parser finds the same method")
    let (uri, subprotocol, payload) =
        switch request.path {
        case .new, .connect: (other.uri.lowercased(), TunnelPath.subprotocol, [String]())
        case .contact: (other.uri, TunnelPath.subprotocol, other.headers["x-cable-client-payload"])
        case .listen: (other.uri, ListenMessage.subprotocol, [])
        }
    try invariant(uri == request.path.text, "another parser finds the same path")
    try invariant(payload.map { $0.lowercased() } == request.payload.map { [$0.hex] } ?? [], "and the same payload")
    try invariant(other.headers["host"].count == 1, "another parser finds one host")
    try invariant(other.headers["sec-websocket-key"].count == 1, "another parser finds one key")
    try invariant(other.headers.items(of: "sec-websocket-version") == ["13"], "another parser finds the version")
    try invariant(other.headers["transfer-encoding"].isEmpty, "another parser finds no body")
    try invariant(other.headers.items(of: "content-length").allSatisfy { $0 == "0" }, "another parser finds no body")
    let offered = other.headers.items(of: "sec-websocket-protocol")
    try invariant(offered.contains { $0.lowercased() == subprotocol }, "another parser finds the protocol")
}

extension HTTPHeaders {
    /// Returns the items of a field's lists without surrounding blanks.
    ///
    /// It splits by bytes, since a comma followed by a combining mark is another character.
    fileprivate func items(of name: String) -> [String] {
        self[name].flatMap { $0.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) }
            .map { item in
                let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
                let start = item.drop(while: isBlank)
                return String(decoding: start.reversed().drop(while: isBlank).reversed(), as: UTF8.self)
            }
    }
}
