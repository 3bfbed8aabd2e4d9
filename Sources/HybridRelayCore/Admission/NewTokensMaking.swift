// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials

extension NewTokens {
    /// Why no line for a token file can be made.
    public enum MakingError: Error, Hashable, Sendable, CaseIterable, CustomStringConvertible {
        /// The name has other characters than those allowed, or too many.
        case malformedName
        /// The token could be guessed.
        case tokenTooShort
        /// The token would not fit into an `Authorization` field.
        case tokenTooLong
        /// The token has characters that must not stand in an `Authorization` field.
        case malformedToken

        /// One line that says what to do.
        public var description: String {
            switch self {
            case .malformedName:
                "a name has 1 to \(NewTokens.maximumNameLength) letters, digits, dots, hyphens or underscores"
            case .tokenTooShort: "a token has \(NewTokens.minimumTokenLength) characters at least, all of them random"
            case .tokenTooLong: "a token has \(NewTokens.maximumTokenLength) characters at most"
            case .malformedToken: "a token has letters, digits and -._~+/ only, and = at its end"
            }
        }
    }

    /// Shortest token that a line is made for, in characters.
    public static let minimumTokenLength = 16
    /// Longest token that fits into an `Authorization` field behind its scheme, in characters.
    public static let maximumTokenLength = BearerToken.maximumFieldLength - "Bearer ".utf8.count

    /// Bytes of a fresh token before they are written as text.
    private static let tokenBytes = 32

    /// A fresh token of 256 bits from the system's generator, and the line for the token file.
    ///
    /// The token is for the phone alone; it is not kept anywhere.
    public static func make(name: String) throws(MakingError) -> (token: String, line: String) {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<tokenBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let token = Data(bytes).base64EncodedString().map { character -> Character in
            switch character {
            case "+": "-"
            case "/": "_"
            default: character
            }
        }.prefix { $0 != "=" }
        let text = String(token)
        return (text, try line(name: name, token: text))
    }

    /// The line of the token file for a token that somebody else has made.
    public static func line(name: String, token: String) throws(MakingError) -> String {
        guard let name = NewTokensReader.name(name.utf8) else { throw .malformedName }
        guard token.utf8.count >= minimumTokenLength else { throw .tokenTooShort }
        guard token.utf8.count <= maximumTokenLength else { throw .tokenTooLong }
        guard BearerToken(token.utf8) != nil else { throw .malformedToken }
        let digits = SHA256.hash(data: Data(token.utf8)).map { byte in
            let text = String(byte, radix: 16)
            return byte < 16 ? "0" + text : text
        }
        return "\(name) \(digits.joined())"
    }
}
