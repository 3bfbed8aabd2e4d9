// SPDX-License-Identifier: Apache-2.0

private import CHybridQREncode

/// A QR code as a square of dark and light modules (ISO/IEC 18004).
///
/// The text is a URL that ends in many digits. The part up to the last slash is encoded in alphanumeric mode. The
/// digits are encoded in numeric mode with ten bits for three digits. For example, 168 digits need version 5 (37 × 37
/// modules), which fits a terminal of 24 rows. Byte mode would need version 9.
///
/// The code is always dark on light with a light border, so that phones recognize it with the colors of any terminal or
/// page. The code contains a secret, so this module never stores it.
public struct QRMatrix: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Error correction level.
    public enum Level: Sendable {
        /// Level L, which restores about 7 percent of the data.
        case low
        /// Level M, which restores about 15 percent of the data.
        case medium
    }

    /// The highest version that phones can read from a small window.
    public static let maximumVersion = 10
    /// Width in modules of the light border around a code (ISO/IEC 18004 §5.3.8).
    static let border = 4
    /// The highest version that fits a terminal of 80 × 24 with a border; level M is used up to this version.
    static let terminalVersion = 5

    /// Version from 1 to ``maximumVersion``, which determines the size.
    public let version: Int
    /// Error correction level.
    public let level: Level
    /// Number of modules per side.
    public let size: Int
    private let dark: [Bool]

    /// Creates the code of a URL.
    ///
    /// Level M is used if the code fits into version 5; otherwise level L is used.
    ///
    /// - Parameter text: Digits, upper-case letters, `$%*+-./:` and spaces up to the last slash, followed by at least
    ///   one digit.
    /// - Throws: ``QRCodeError``.
    public init(text: String) throws(QRCodeError) {
        let segments = try QRSegments(text)
        let code =
            QRMatrix(segments, .medium, upTo: Self.terminalVersion)
            ?? QRMatrix(segments, .low, upTo: Self.maximumVersion)
        guard let code else { throw .tooLong }
        self = code
    }

    /// Creates the code of the segments; `nil` if they require a version above `limit`.
    private init?(_ segments: QRSegments, _ level: Level, upTo limit: Int) {
        guard let input = QRinput_new2(0, level == .low ? QR_ECLEVEL_L : QR_ECLEVEL_M) else { return nil }
        defer { QRinput_free(input) }
        guard QRinput_append(input, QR_MODE_AN, CInt(segments.prefix.count), segments.prefix) == 0,
            QRinput_append(input, QR_MODE_NUM, CInt(segments.digits.count), segments.digits) == 0,
            let code = QRcode_encodeInput(input)
        else { return nil }
        defer { QRcode_free(code) }
        guard code.pointee.version <= limit, let modules = code.pointee.data else { return nil }
        version = Int(code.pointee.version)
        self.level = level
        size = Int(code.pointee.width)
        // libqrencode stores modules row by row, and the color in the lowest bit.
        dark = UnsafeBufferPointer(start: modules, count: size * size).map { $0 & 1 == 1 }
    }

    /// Returns true if a module is dark.
    ///
    /// Modules outside the code are light.
    public func isDark(column: Int, row: Int) -> Bool {
        guard (0..<size).contains(column), (0..<size).contains(row) else { return false }
        return dark[row * size + column]
    }

    /// A text with the version only, because the modules encode a secret.
    public var description: String { "QRMatrix(version \(version))" }
    /// A mirror without children, because the modules encode a secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A reason why a text cannot be encoded or drawn.
public struct QRCodeError: Error, Hashable, Sendable, CustomStringConvertible {
    /// There is no slash, or no digit after the last slash.
    public static let noDigits = QRCodeError("noDigits")
    /// A character cannot be encoded in the mode of its part.
    public static let unsupportedCharacter = QRCodeError("unsupportedCharacter")
    /// The text requires a version above ``QRMatrix/maximumVersion``.
    public static let tooLong = QRCodeError("tooLong")
    /// There is not enough memory for the image.
    public static let notDrawn = QRCodeError("notDrawn")

    /// The error's name.
    public let description: String

    private init(_ description: String) { self.description = description }
}

/// The two parts of a URL.
private struct QRSegments {
    /// Maximum length in characters; version 10 holds fewer.
    static let maximumLength = 1024

    let prefix: [UInt8]
    let digits: [UInt8]

    init(_ text: String) throws(QRCodeError) {
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.maximumLength else { throw .tooLong }
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")), slash + 1 < bytes.count else { throw .noDigits }
        prefix = Array(bytes[...slash])
        digits = Array(bytes[(slash + 1)...])
        guard prefix.allSatisfy(Self.isAlphanumeric), digits.allSatisfy(Self.isDigit) else {
            throw .unsupportedCharacter
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) || " $%*+-./:".utf8.contains(byte)
    }
}
