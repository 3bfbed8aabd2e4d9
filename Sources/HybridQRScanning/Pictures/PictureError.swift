// SPDX-License-Identifier: Apache-2.0

/// Why bytes are not a picture that can be looked at.
public enum PictureError: Error, Hashable, Sendable {
    /// There are none.
    case empty
    /// They begin neither as a PNG nor as a JPEG does.
    case unknownFormat
    /// They begin well, and then do not go on as the format says; the reason is the decoder's.
    case damaged(String)
    /// It has more pixels than are read; none of them was.
    case tooLarge(width: Int, height: Int)
    /// A JPEG for a printing press (CMYK).
    case printersColours
    /// There is not enough memory.
    case outOfMemory

    /// What is wrong, to stand after the file's name and a colon.
    public var sentence: String {
        switch self {
        case .empty: "the file is empty"
        case .unknownFormat: "this is neither a PNG nor a JPEG picture"
        case .damaged(let reason): "the picture is damaged: \(reason)"
        case .tooLarge(let width, let height):
            "the picture is too large (\(width) × \(height) pixels); crop it around the code"
        case .printersColours: "the picture has a printer's colours (CMYK); save it as PNG"
        case .outOfMemory: "there is not enough memory for the picture"
        }
    }
}
