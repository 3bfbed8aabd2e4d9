// SPDX-License-Identifier: Apache-2.0

/// Reads QR codes from pixels: a picture file, a screenshot, the frames of a camera.
///
/// Who takes part: the **picture**, which anybody may have made; libpng and libjpeg-turbo, which turn its bytes into
/// shades of grey within bounds that are checked before memory is asked for; **zbar**, which finds codes in them; and
/// the **caller**, who says which texts are wanted, since a desktop or a poster may show other codes too.
///
/// zbar reads what is large, dark on light, sharp and not too noisy. Codes are also tiny on a wide desktop, light on
/// dark, in a bad photograph, or in a picture larger than zbar can count. So the picture is looked at whole, as a
/// negative, smoothed, from further away, and closer, in parts; one that shows its code at first sight costs one look.
///
/// The texts may hold secrets: they are ``ScannedText``, and the pixels of ``GreyPicture`` are wiped too. What the
/// libraries keep for a while in memory of their own is not, nor are the bytes of a picture file: they are the caller's,
/// and lie on a disk as well.
public struct CodeSearch: ~Copyable {
    private let reader: CodeReader

    /// Throws ``PictureError/outOfMemory``.
    init() throws(PictureError) {
        reader = try CodeReader()
    }

    /// What a picture shows.
    public struct Finding: Sendable {
        /// The codes that are wanted, each once; empty if no look showed one.
        public let wanted: [ScannedText]
        /// Whether there were other QR codes.
        public let showsOthers: Bool
    }

    /// Looks until a code is wanted, or in every way there is, or until the task is cancelled.
    ///
    /// - Throws: ``PictureError/outOfMemory``.
    func codes(
        in picture: GreyPicture,
        where isWanted: (ScannedText) -> Bool
    ) throws(PictureError) -> Finding {
        try codes(in: picture, looks: PictureView.all(of: picture), while: { !Task.isCancelled }, where: isWanted)
    }

    /// One look, without a second: for frames of a camera, of which the next comes anyway.
    func codesAtFirstSight(
        in picture: GreyPicture,
        where isWanted: (ScannedText) -> Bool
    ) throws(PictureError) -> Finding {
        let first = PictureView(scale: .reduced(by: PictureView.fit(picture)))
        return try codes(in: picture, looks: [first], while: { true }, where: isWanted)
    }

    /// Looks in these ways, as long as it makes sense.
    func codes(
        in picture: GreyPicture,
        looks: [PictureView],
        while isWorthwhile: () -> Bool,
        where isWanted: (ScannedText) -> Bool
    ) throws(PictureError) -> Finding {
        var showsOthers = false
        for look in looks where isWorthwhile() {
            let texts = try reader.texts(in: try look.view(of: picture))
            let wanted = texts.filter(isWanted)
            if wanted.count < texts.count { showsOthers = true }
            if !wanted.isEmpty { return Finding(wanted: wanted, showsOthers: showsOthers) }
        }
        return Finding(wanted: [], showsOthers: showsOthers)
    }
}
