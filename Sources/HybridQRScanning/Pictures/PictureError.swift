// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// A reason why a picture cannot be decoded.
///
/// Callers print the sentence after the name of the file and a colon.
public struct PictureError: ExplainedFailure, Hashable {
    /// The file has no bytes.
    public static let empty = PictureError("the file is empty")
    /// The file has neither a PNG nor a JPEG signature.
    public static let unknownFormat = PictureError("this is neither a PNG nor a JPEG picture")
    /// The file is a JPEG in CMYK.
    public static let unsupportedColors = PictureError("the picture has CMYK colors; save it as PNG")
    /// There is not enough memory.
    public static let outOfMemory = PictureError("there is not enough memory for the picture", .temporary)

    /// Cause and remedy.
    public let sentence: String
    /// The exit status of a command that ends with this error.
    public let status: ExitStatus
    /// The name of the status.
    public var code: String { status.name }

    private init(_ sentence: String, _ status: ExitStatus = .dataError) {
        self.sentence = sentence
        self.status = status
    }

    /// The file is malformed; the reason comes from the decoder.
    public static func damaged(_ reason: String) -> PictureError { PictureError("the picture is damaged: \(reason)") }
    /// The picture has too many pixels, so it was not decoded.
    public static func tooLarge(width: Int, height: Int) -> PictureError {
        PictureError("the picture is too large (\(width) × \(height) pixels); crop it around the code")
    }
}
