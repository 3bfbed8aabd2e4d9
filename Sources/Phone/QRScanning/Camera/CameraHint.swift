// SPDX-License-Identifier: Apache-2.0

/// A hint for a user who is holding a code in front of a camera.
public enum CameraHint: Hashable, Sendable {
    /// The frames show no code.
    case noCode
    /// The frames are almost black.
    case tooDark
    /// There is a QR code that does not match.
    case anotherCode
    /// There are several matching codes.
    case severalCodes

    /// One line for the user.
    public var sentence: String {
        switch self {
        case .noCode: "hold the code in front of the camera, so that it fills half the picture"
        case .tooDark: "the picture is dark; is the camera covered?"
        case .anotherCode: "this QR code is not a sign-in code"
        case .severalCodes: "there are several sign-in codes in the picture; show one of them"
        }
    }
}

/// A filter that prevents hints from changing with every frame.
struct HintFilter {
    /// Number of consecutive frames that must have the same hint.
    static let requiredFrames = 5

    private var current: CameraHint?
    private var candidate: CameraHint?
    private var count = 0

    /// Returns the hint after this frame; `nil` if the hint has not changed.
    mutating func next(_ finding: CodeSearch.Finding) -> CameraHint? {
        let hint: CameraHint =
            if finding.wanted.count > 1 {
                .severalCodes
            } else if finding.showsOthers {
                .anotherCode
            } else {
                finding.isDark ? .tooDark : .noCode
            }
        count = hint == candidate ? count + 1 : 1
        candidate = hint
        guard count >= Self.requiredFrames, hint != current else { return nil }
        current = hint
        return hint
    }
}
