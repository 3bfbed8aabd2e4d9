// SPDX-License-Identifier: Apache-2.0

import CaBLE
import NIOCore
import RelayCore
import TestSupport
import Testing

/// The fuzzers' seeds and former crashes, through the same calls as in the fuzz targets.
@Suite("Relay fuzz corpora")
struct RelayFuzzReplayTests {
    @Test("Request heads read alike in one piece and in pieces")
    func requests() throws {
        let inputs = try FuzzCorpus.inputs("websocket-request")
        var read = 0
        for input in inputs {
            guard let size = input.bytes.first.map({ Int($0) + 1 }) else { continue }
            let bytes = Array(input.bytes.dropFirst())
            let whole = request(bytes, pieces: bytes.count + 1)
            #expect(request(bytes, pieces: size) == whole, "\(input.name)")
            _ = try? UpgradeRequest(parsing: bytes)
            if whole.hasPrefix("HTTP/1.1 101") { read += 1 }
        }
        #expect(read >= 2, "some seeds are requests that are granted")
    }

    @Test("Frames give the same in one piece and in pieces")
    func frames() throws {
        let inputs = try FuzzCorpus.inputs("websocket-frames")
        var read = 0
        for input in inputs {
            guard let size = input.bytes.first.map({ Int($0) + 1 }) else { continue }
            let bytes = Array(input.bytes.dropFirst())
            let whole = frames(bytes, pieces: bytes.count + 1)
            #expect(frames(bytes, pieces: size) == whole, "\(input.name)")
            if !whole.isEmpty { read += 1 }
        }
        #expect(read >= 5, "the seeds are frames of which something comes out")
    }

    /// The response and what lies behind the head, or the refusal, or that the head goes on.
    private func request(_ bytes: [UInt8], pieces size: Int) -> String {
        var reader = RequestHeadReader(maximumLength: 8192)
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(size)
            rest = rest.dropFirst(size)
            do throws(UpgradeRefusal) {
                if let (request, behind) = try reader.receive(ByteBuffer(bytes: piece)) {
                    return "\(request.response(routing: nil)) \(request.path.text) \(behind.readableBytes + rest.count)"
                }
            } catch { return "refused: \(error)" }
        }
        return "more"
    }

    /// All that comes out: data joined, control frames in their places, the violation at the end.
    private func frames(_ bytes: [UInt8], pieces size: Int) -> [UInt8] {
        var reader = FrameReader(maximumMessage: 4096)
        var output: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            reader.append(ByteBuffer(bytes: rest.prefix(size)))
            rest = rest.dropFirst(size)
            do throws(FrameViolation) {
                while let event = try reader.next() {
                    switch event {
                    case .data(let frames, _): output += Array(frames.readableBytesView)
                    case .ping(let payload): output += Array("ping".utf8) + payload
                    case .pong: output += Array("pong".utf8)
                    case .close(let code): output += Array("close \(String(describing: code))".utf8)
                    }
                }
            } catch { return output + Array("violation \(error)".utf8) }
        }
        return output
    }
}
