// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import HybridPrimitives
internal import NIOCore

extension Response {
    /// Returns a response with a value in JSON.
    static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
        let encoder = JSONEncoder()
        // Equal values have equal bytes.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let bytes = try encoder.encode(value)
        return json(bytes: Array(bytes), status: status)
    }

    /// Returns a response with JSON.
    static func json(bytes: [UInt8], status: HTTPResponse.Status = .ok) -> Response {
        Response(bytes, type: "application/json", status: status)
    }

    init(_ bytes: [UInt8], type: String, status: HTTPResponse.Status = .ok) {
        self.init(
            status: status,
            headers: [.contentType: type],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        )
    }
}

/// The reader of request bodies, with limits for length and time.
struct BodyReader: Sendable {
    private let maximumLength: Int
    private let time: Duration

    init(limits: ShinyLimits) {
        maximumLength = limits.bodyBytes
        time = limits.bodyTime
    }

    /// Returns the body.
    ///
    /// - Throws: `tooLong`, `tooSlow`.
    func bytes(of request: Request) async throws -> [UInt8] {
        let body = request.body
        return try await withThrowingTaskGroup(of: [UInt8].self) { group in
            group.addTask {
                var bytes: [UInt8] = []
                for try await chunk in body {
                    guard bytes.count + chunk.readableBytes <= maximumLength else { throw SiteError.tooLong }
                    bytes += chunk.readableBytesView
                }
                return bytes
            }
            group.addTask {
                try await Task.sleep(for: time)
                throw SiteError.tooSlow
            }
            defer { group.cancelAll() }
            return try await group.next() ?? []
        }
    }

    /// Returns the body as a value, from JSON as strict as everywhere here: no member twice, no superfluous commas.
    ///
    /// - Throws: `tooLong`, `tooSlow`, `malformed`.
    func value<Value: Decodable>(_: Value.Type = Value.self, of request: Request) async throws -> Value {
        let bytes = try await bytes(of: request)
        guard let json = try? JSONText(parsing: bytes).description,
            let value = try? JSONDecoder().decode(Value.self, from: Data(json.utf8))
        else { throw SiteError.malformed }
        return value
    }
}
