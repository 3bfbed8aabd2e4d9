// SPDX-License-Identifier: Apache-2.0

/// A search for QR codes in a picture.
///
/// zbar finds codes that are large, dark on light, sharp and not too noisy. The search therefore tries several views of
/// a picture: the whole picture, inverted, smoothed, reduced, and enlarged parts. It ends with the first view that shows
/// a matching code.
public struct CodeSearch: ~Copyable {
    private let reader: CodeReader

    /// Creates a search.
    ///
    /// - Throws: ``PictureError/outOfMemory``.
    init() throws(PictureError) {
        reader = try CodeReader()
    }

    /// The result of a search.
    public struct Finding: Sendable {
        /// Matching codes, without repetition.
        public let wanted: [ScannedText]
        /// True if there were other QR codes.
        public let showsOthers: Bool
    }

    /// Searches all views, until one shows a matching code or the task is cancelled.
    ///
    /// - Throws: ``PictureError/outOfMemory``.
    func codes(
        in picture: GrayPicture,
        where isWanted: (ScannedText) -> Bool
    ) throws(PictureError) -> Finding {
        try codes(in: picture, views: PictureView.all(of: picture), while: { !Task.isCancelled }, where: isWanted)
    }

    /// Searches the whole picture only, for frames of a camera.
    func codesInWholePicture(
        in picture: GrayPicture,
        where isWanted: (ScannedText) -> Bool
    ) throws(PictureError) -> Finding {
        let whole = PictureView(scale: .reduced(by: PictureView.fit(picture)))
        return try codes(in: picture, views: [whole], while: { true }, where: isWanted)
    }

    /// Searches these views as long as `shouldContinue` returns true.
    func codes(
        in picture: GrayPicture,
        views: [PictureView],
        while shouldContinue: () -> Bool,
        where isWanted: (ScannedText) -> Bool
    ) throws(PictureError) -> Finding {
        var showsOthers = false
        for view in views where shouldContinue() {
            let texts = try reader.texts(in: try view.applied(to: picture))
            let wanted = texts.filter(isWanted)
            if wanted.count < texts.count { showsOthers = true }
            if !wanted.isEmpty { return Finding(wanted: wanted, showsOthers: showsOthers) }
        }
        return Finding(wanted: [], showsOthers: showsOthers)
    }
}
