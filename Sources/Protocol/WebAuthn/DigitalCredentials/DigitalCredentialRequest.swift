// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// A website's request for a digital credential, such as a driving licence in the phone's wallet.
///
/// The request is the argument of `navigator.credentials.get()` or `create()` with the member `digital` (W3C Digital
/// Credentials §4). Its data is passed on unchanged; only the wallet interprets it.
public struct DigitalCredentialRequest: Sendable {
    /// The operation that the website requests.
    public enum Operation: String, Sendable {
        /// Presenting a credential of the wallet.
        case presentation = "credential.get"
        /// Issuing a credential to the wallet.
        case issuance = "credential.create"
    }

    /// The operation.
    public let operation: Operation
    /// The serialized origin of the website.
    public let origin: String
    /// The protocols of the request, in the website's order; never empty.
    public let protocols: [String]
    private let digital: JSONText

    /// Maximum length of the website's JSON in bytes.
    public static let maximumBytes = 1 << 20

    /// Creates a request from `{"digital": {"requests": [{"protocol": …, "data": {…}}]}}`.
    ///
    /// - Parameters:
    ///   - json: Strict JSON of at most ``maximumBytes`` bytes.
    ///   - operation: The operation.
    ///   - origin: The origin of the website, which the caller must know to be true.
    /// - Throws: ``DigitalCredentialError``.
    public init(json: [UInt8], operation: Operation, origin: Origin) throws(DigitalCredentialError) {
        guard json.count <= Self.maximumBytes else { throw .requestTooLong }
        let document: JSONText
        do throws(JSONSyntaxError) {
            document = try JSONText(parsing: json, mayBeMarked: true)
        } catch {
            throw .malformedRequest(error.reason)
        }
        guard let digital = document.member("digital") else { throw .malformedRequest("it has no member digital") }
        try self.init(operation, origin.text, digital)
    }

    /// Creates a request from the message of a client (CTAP 2.3 §11.5.1).
    ///
    /// - Throws: ``DigitalCredentialError``.
    public init(message: [UInt8]) throws(DigitalCredentialError) {
        guard let document = try? JSONText(parsing: message), let origin = document.member("origin")?.text,
            let operation = document.member("requestType")?.text.flatMap(Operation.init),
            let digital = document.member("request")?.member("digital")
        else { throw .malformedRequest("it is not a request for a digital credential") }
        try self.init(operation, origin, digital)
    }

    private init(_ operation: Operation, _ origin: String, _ digital: JSONText) throws(DigitalCredentialError) {
        guard let requests = digital.member("requests")?.elements, !requests.isEmpty else {
            throw .malformedRequest("digital.requests is not a list with entries")
        }
        var protocols: [String] = []
        for request in requests {
            guard let name = request.member("protocol")?.text, !name.isEmpty,
                request.member("data")?.isObject == true
            else { throw .malformedRequest("an entry of digital.requests lacks protocol or data") }
            protocols.append(name)
        }
        (self.operation, self.origin, self.protocols, self.digital) = (operation, origin, protocols, digital)
    }

    /// The body of the message for the phone, as JSON in UTF-8.
    public var message: [UInt8] {
        let object = JSONText.object([
            ("origin", .string(origin)),
            ("requestType", .string(operation.rawValue)),
            ("request", .object([("digital", digital)])),
        ])
        return Array(object.serialized(.clientData).utf8)
    }
}
