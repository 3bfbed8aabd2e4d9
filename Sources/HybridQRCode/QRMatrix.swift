// SPDX-License-Identifier: Apache-2.0

private import CHybridQREncode

/// A QR code as a square of dark and light modules (ISO/IEC 18004).
///
/// It carries a link that ends in many digits. The part up to the last slash is coded alphanumerically and
/// the digits numerically, ten bits for three of them, which keeps the code small enough for a terminal of 24
/// rows: 168 digits need version 5 (37 × 37 modules), where bytes would need version 9.
///
/// A person holds a phone up to it, so it must be found under all circumstances: always dark on light, with
/// a light border around it, whatever the colours of the terminal or page. It holds a secret: whoever sees it
/// can take part, so it is drawn and never stored by this module.
public struct QRMatrix: Equatable, Sendable {
    /// How much damage can be corrected.
    public enum Level: Sendable {
        /// About 7 percent.
        case low
        /// About 15 percent.
        case medium
    }

    /// The largest version that a phone still reads from a small window.
    public static let maximumVersion = 10
    /// The light border around a code, in modules (ISO/IEC 18004 §5.3.8).
    static let border = 4
    /// The largest version that fits a terminal of 80 × 24 with its border; level M is kept up to here.
    static let terminalVersion = 5

    /// Size class, 1 to ``maximumVersion``.
    public let version: Int
    /// How much damage can be corrected.
    public let level: Level
    /// Modules along a side.
    public let size: Int
    private let dark: [Bool]

    /// Codes a link.
    ///
    /// Level M is used where the code then has version 5 or less, and the smaller level L above.
    ///
    /// - Parameter text: Up to the last slash only digits, upper-case letters and `$%*+-./:` or space; after it
    ///   only digits, at least one.
    public init(text: String) throws(QRCodeError) {
        let segments = try Segments(text)
        if let medium = Symbol(segments, level: QR_ECLEVEL_M), medium.version <= Self.terminalVersion {
            self.init(medium, level: .medium)
        } else if let low = Symbol(segments, level: QR_ECLEVEL_L), low.version <= Self.maximumVersion {
            self.init(low, level: .low)
        } else {
            throw .tooLong
        }
    }

    private init(_ symbol: borrowing Symbol, level: Level) {
        version = symbol.version
        self.level = level
        size = symbol.size
        dark = symbol.modules
    }

    /// Whether a module is dark; everything outside is the light border.
    public func isDark(column: Int, row: Int) -> Bool {
        guard (0..<size).contains(column), (0..<size).contains(row) else { return false }
        return dark[row * size + column]
    }
}

extension QRMatrix: CustomStringConvertible, CustomReflectable {
    /// Its version only, because the modules spell a secret.
    public var description: String { "QRMatrix(version \(version))" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why a text is not drawn.
public enum QRCodeError: Error, Equatable, Sendable {
    /// There is no slash, or no digit after the last one.
    case noDigits
    /// A character can't be coded in its part.
    case unsupportedCharacter
    /// It would need a version above ``QRMatrix/maximumVersion``.
    case tooLong
    /// There is no memory for the picture.
    case notDrawn
}

/// The two parts of a link.
private struct Segments {
    /// More than any version up to 10 holds.
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

/// A symbol of libqrencode, freed with this value.
private struct Symbol: ~Copyable {
    private let code: UnsafeMutablePointer<QRcode>

    /// The smallest symbol of a level; `nil` if there is none.
    init?(_ segments: Segments, level: QRecLevel) {
        guard let input = QRinput_new2(0, level) else { return nil }
        defer { QRinput_free(input) }
        guard QRinput_append(input, QR_MODE_AN, CInt(segments.prefix.count), segments.prefix) == 0,
            QRinput_append(input, QR_MODE_NUM, CInt(segments.digits.count), segments.digits) == 0,
            let code = QRcode_encodeInput(input)
        else { return nil }
        self.code = code
    }

    deinit { QRcode_free(code) }

    var version: Int { Int(code.pointee.version) }
    var size: Int { Int(code.pointee.width) }

    /// Row by row; libqrencode keeps the colour in the lowest bit.
    var modules: [Bool] {
        guard let data = code.pointee.data else { return [Bool](repeating: false, count: size * size) }
        return UnsafeBufferPointer(start: data, count: size * size).map { $0 & 1 == 1 }
    }
}
