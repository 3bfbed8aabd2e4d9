// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// A reason why the JSON of a request is unusable; `field` is a path such as `publicKey.user.id`.
///
/// In a browser, the corresponding exception is thrown by `JSON.parse()`, by `parseCreationOptionsFromJSON()` or
/// `parseRequestOptionsFromJSON()`, or by a later call.
public struct OptionsError: WebAuthnFailure, Hashable {
    /// The request is longer than ``PublicKeyOptions/maximumBytes``.
    public static let tooLarge = OptionsError("the request is longer than \(PublicKeyOptions.maximumBytes) bytes")
    /// The request is not JSON; where it stops being JSON is unknown.
    public static let notJSON = OptionsError("the request is not JSON", .syntaxError)

    /// The invalid part and the cause.
    public let detail: String
    /// Name of the exception that a browser would throw.
    public let name: WebAuthnErrorName
    /// The cause.
    public var sentence: String { "the request can't be used: \(detail)" }
    /// The code `request-unusable`.
    public var code: String { "request-unusable" }
    /// The exit status for malformed data.
    public var status: ExitStatus { .dataError }

    private init(_ detail: String, _ name: WebAuthnErrorName = .typeError) {
        self.detail = detail
        self.name = name
    }

    /// A member is missing or `null`.
    public static func missing(field: String) -> OptionsError { OptionsError("\(field) is missing") }
    /// A member has the wrong type.
    public static func wrongType(field: String) -> OptionsError { OptionsError("\(field) has the wrong type") }
    /// A member is not base64url without padding.
    public static func notBase64URL(field: String) -> OptionsError {
        OptionsError("\(field) is not base64url without padding", .encodingError)
    }
    /// A member has a value that is not allowed; `reason` completes the sentence.
    public static func invalid(
        field: String,
        because reason: String,
        _ name: WebAuthnErrorName = .typeError
    ) -> OptionsError {
        OptionsError("\(field) \(reason)", name)
    }

    /// A member is not supported here; `reason` completes the sentence.
    static func unsupported(field: String, because reason: String) -> OptionsError {
        invalid(field: field, because: reason, .notSupportedError)
    }

    init(_ error: JSONMemberError) {
        switch error.problem {
        case .missing: self = .missing(field: error.path)
        case .wrongType: self = .wrongType(field: error.path)
        }
    }

    /// Creates the error of a request whose text can't be parsed; it names the place.
    init(_ error: JSONSyntaxError, in json: [UInt8]) {
        guard error == .malformed || error == .tooDeep else {
            self = OptionsError(error.reason, .syntaxError)
            return
        }
        guard let offset = error.offset else {
            self = .notJSON
            return
        }
        let lines = json.prefix(offset).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let last = lines.last.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let place = "see line \(lines.count), column \(last.unicodeScalars.count + 1)"
        self = OptionsError("\(Self.notJSON.detail); \(place)", .syntaxError)
    }
}
