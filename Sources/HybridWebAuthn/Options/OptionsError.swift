// SPDX-License-Identifier: Apache-2.0

/// Why a request's JSON can't be used; `field` is a path such as `publicKey.user.id`.
public enum OptionsError: Error, Equatable, Sendable {
    /// It is longer than ``PublicKeyOptions/maximumBytes``.
    case tooLarge
    /// It is not JSON.
    case notJSON
    /// A member is missing or `null`.
    case missing(field: String)
    /// A member has the wrong type.
    case wrongType(field: String)
    /// A member is not base64url without padding.
    case notBase64URL(field: String)
    /// A member has a value that is not allowed; the text ends the sentence.
    case invalid(field: String, because: String, WebAuthnErrorName = .typeError)

    /// What is wrong, as one line for people.
    public var sentence: String {
        switch self {
        case .tooLarge: "the request is longer than \(PublicKeyOptions.maximumBytes) bytes"
        case .notJSON: "the request is not JSON"
        case .missing(let field): "\(field) is missing"
        case .wrongType(let field): "\(field) has the wrong type"
        case .notBase64URL(let field): "\(field) is not base64url without padding"
        case .invalid(let field, let reason, _): "\(field) \(reason)"
        }
    }

    /// What a browser would throw, from `JSON.parse()`, from `parseCreationOptionsFromJSON()` and its sibling, or later.
    public var name: WebAuthnErrorName {
        switch self {
        case .notJSON: .syntaxError
        case .tooLarge, .missing, .wrongType: .typeError
        case .notBase64URL: .encodingError
        case .invalid(_, _, let name): name
        }
    }

    init(_ error: DecodingError) {
        switch error {
        case .keyNotFound(let key, let context):
            self = .missing(field: (context.codingPath + [key]).field)
        case .valueNotFound(_, let context):
            self = .missing(field: context.codingPath.field)
        case .typeMismatch(_, let context):
            self = .wrongType(field: context.codingPath.field)
        case .dataCorrupted(let context) where !context.codingPath.isEmpty:
            self = .wrongType(field: context.codingPath.field)
        default:
            self = .notJSON
        }
    }
}

extension [any CodingKey] {
    /// The path as JavaScript would write it.
    var field: String {
        var path = ""
        for key in self {
            if let index = key.intValue {
                path += "[\(index)]"
            } else {
                path += path.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
        return path.isEmpty ? "the request" : path
    }
}
