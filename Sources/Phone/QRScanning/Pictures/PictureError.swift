// SPDX-License-Identifier: Apache-2.0

package import HybridPrimitives

/// A reason why a picture cannot be decoded.
///
/// Callers print the sentence after the name of the file and a colon.
package struct PictureError: ExplainedFailure, Hashable {
    /// The file has no bytes.
    package static let empty = PictureError("the file is empty")
    /// The file has neither a PNG nor a JPEG signature.
    package static let unknownFormat = PictureError("this is neither a PNG nor a JPEG picture")
    /// The file is a JPEG in CMYK.
    package static let unsupportedColors = PictureError("the picture has CMYK colors; save it as PNG")
    /// A camera's pixel format that zbar cannot convert.
    static let unsupportedFormat = PictureError("zbar supports none of the camera's pixel formats", .unavailable)
    /// There is not enough memory.
    package static let outOfMemory = PictureError("there is not enough memory for the picture", .temporary)

    /// Cause and remedy.
    package let sentence: String
    /// The exit status of a command that ends with this error.
    package let status: ExitStatus
    /// The name of the status.
    package var code: String { status.name }

    /// True if the picture itself is damaged, and another one may be fine.
    var isDamage: Bool { status == .dataError && self != .decoderFailed }

    private init(_ sentence: String, _ status: ExitStatus = .dataError) {
        self.sentence = sentence
        self.status = status
    }

    /// The process that decodes the picture ended or sent something else than a result.
    package static let decoderFailed = PictureError("the picture is damaged: its decoder failed; save it again as PNG")
    /// The process that decodes the picture cannot be kept from files and network.
    static let notConfined = PictureError(
        "the kernel can't confine the decoder of pictures (seccomp); give the text of the code instead",
        .unavailable
    )
    /// The process that decodes the picture cannot be started.
    static func noProcess(_ reason: String) -> PictureError {
        PictureError("no process could be started to decode the picture (\(reason)); try again", .temporary)
    }
    /// A failure that the process for the picture has reported; only printable characters of its first ones are shown.
    init(reported bytes: some Collection<UInt8>, _ status: ExitStatus) {
        let text = String(decoding: bytes.prefix(200), as: UTF8.self)
        let shown = text.unicodeScalars.filter { (" "..."~").contains($0) || $0 == "\u{D7}" }
        self.init(String(String.UnicodeScalarView(shown)), status)
    }
    /// The file is a picture of another format.
    package static func otherFormat(_ name: String) -> PictureError {
        PictureError("this is a picture in the format \(name); save it as PNG or JPEG")
    }
    /// The file is malformed; the reason comes from the decoder.
    package static func damaged(_ reason: String) -> PictureError { PictureError("the picture is damaged: \(reason)") }
    /// The picture has too many pixels, so it was not decoded.
    package static func tooLarge(width: Int, height: Int) -> PictureError {
        PictureError("the picture is too large (\(width) × \(height) pixels); crop it around the code")
    }
}
