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
    /// There is not enough memory.
    package static let outOfMemory = PictureError("there is not enough memory for the picture", .temporary)

    /// Cause and remedy.
    package let sentence: String
    /// The exit status of a command that ends with this error.
    package let status: ExitStatus
    /// The name of the status.
    package var code: String { status.name }

    private init(_ sentence: String, _ status: ExitStatus = .dataError) {
        self.sentence = sentence
        self.status = status
    }

    /// The file is malformed; the reason comes from the decoder.
    package static func damaged(_ reason: String) -> PictureError { PictureError("the picture is damaged: \(reason)") }
    /// The picture has too many pixels, so it was not decoded.
    package static func tooLarge(width: Int, height: Int) -> PictureError {
        PictureError("the picture is too large (\(width) × \(height) pixels); crop it around the code")
    }
}
