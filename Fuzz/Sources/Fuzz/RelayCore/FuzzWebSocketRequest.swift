// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridRelayCore
import NIOCore
import NIOEmbedded
import NIOHTTP1

/// A request head is read alike in one piece and in pieces, whose size the first byte says; and what is taken another
/// parser understands alike, so that nothing in front of the relay sees another request.
func fuzzWebSocketRequest(_ input: [UInt8]) throws -> Bool {
    guard let size = input.first.map({ Int($0) + 1 }) else { return false }
    let bytes = Array(input.dropFirst())
    let whole = Outcome(bytes, pieces: bytes.count + 1)
    try invariant(Outcome(bytes, pieces: size) == whole, "pieces don't matter")
    switch whole {
    case .goesOn: return false
    case .refused(let refusal):
        try invariant(refusal.response.hasSuffix("\n") && (400..<600).contains(refusal.status), "a refusal is told")
        return false
    case .taken(let request, let behind):
        let head = Array(bytes.dropLast(behind))
        try invariant(try UpgradeRequest(parsing: head) == request, "a head stands for itself")
        try secondOpinion(head, request)
        return true
    }
}

/// The request and the number of bytes behind it, or the refusal, or that the head goes on.
private enum Outcome: Equatable {
    case taken(UpgradeRequest, behind: Int)
    case refused(UpgradeRefusal)
    case goesOn

    init(_ bytes: [UInt8], pieces size: Int) {
        var reader = RequestHeadReader(maximumLength: 8192)
        var read = 0
        for piece in bytes.pieces(of: size) {
            read += piece.count
            do throws(UpgradeRefusal) {
                if let (request, behind) = try reader.receive(ByteBuffer(bytes: piece)) {
                    self = .taken(request, behind: behind.readableBytes + bytes.count - read)
                    return
                }
            } catch {
                self = .refused(error)
                return
            }
        }
        self = .goesOn
    }
}

private func secondOpinion(_ head: [UInt8], _ request: UpgradeRequest) throws {
    let channel = EmbeddedChannel(handler: ByteToMessageHandler(HTTPRequestDecoder()))
    defer { _ = try? channel.finish() }
    do {
        try channel.writeInbound(ByteBuffer(bytes: head))
    } catch HTTPParserError.invalidContentLength {
        // It does not take the tab that may stand behind the number.
        return
    }
    guard case .head(let other)? = try channel.readInbound(as: HTTPServerRequestPart.self) else {
        throw BrokenInvariant(description: "broken: another parser finds a head there")
    }
    try invariant(other.method == .GET && other.version == .http1_1, "another parser finds the same method")
    try invariant(other.uri.lowercased() == request.path.text, "another parser finds the same path")
    try invariant(other.headers["host"].count == 1, "another parser finds one host")
    try invariant(other.headers["sec-websocket-key"].count == 1, "another parser finds one key")
    try invariant(other.headers.items(of: "sec-websocket-version") == ["13"], "another parser finds the version")
    try invariant(other.headers["transfer-encoding"].isEmpty, "another parser finds no body")
    try invariant(other.headers.items(of: "content-length").allSatisfy { $0 == "0" }, "another parser finds no body")
    let offered = other.headers.items(of: "sec-websocket-protocol")
    try invariant(offered.contains { $0.lowercased() == TunnelPath.subprotocol }, "another parser finds the protocol")
}

extension HTTPHeaders {
    /// The items of a field's lists without the blanks around them, which are left to whoever asks.
    ///
    /// By bytes: a comma with a combining mark behind it is another character than a comma.
    fileprivate func items(of name: String) -> [String] {
        self[name].flatMap { $0.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) }
            .map { item in
                let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
                let start = item.drop(while: isBlank)
                return String(decoding: start.reversed().drop(while: isBlank).reversed(), as: UTF8.self)
            }
    }
}
