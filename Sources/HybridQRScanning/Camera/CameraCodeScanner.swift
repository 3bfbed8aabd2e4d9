// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

/// What to tell a person who holds a code before a camera.
public enum CameraHint: Hashable, Sendable {
    /// Frames come, and show no code.
    case noCode
    /// There is next to no light.
    case tooDark
    /// There is a QR code, and it is not wanted.
    case anotherCode
    /// There are several codes of the wanted kind.
    case severalCodes

    /// One line for the person.
    public var sentence: String {
        switch self {
        case .noCode: "hold the code before the camera, so that it fills half of the picture"
        case .tooDark: "the picture is dark; is the camera covered?"
        case .anotherCode: "this QR code is not a sign-in code"
        case .severalCodes: "there are several sign-in codes in the picture; show one of them"
        }
    }
}

/// Looks at frames until one shows a code.
public enum CameraCodeScanner {
    /// Why a watch ended without a code.
    public enum Failure: Error, Hashable, Sendable {
        /// There are no frames.
        case camera(CameraError)
        /// No code came in time.
        case timedOut
        /// The task was cancelled.
        case cancelled
    }

    private enum Event: Sendable {
        case hint(CameraHint)
        case ended(Result<ScannedText, Failure>)
    }

    /// Opens a source of frames and looks at them, on a thread of its own.
    ///
    /// - Parameters:
    ///   - open: Opens the source; called on that thread, which closes it too, soon after this returns.
    ///   - limit: How long to watch, opening included.
    ///   - isWanted: Which codes count.
    ///   - hint: Told what to tell the person, when that changes.
    public static func firstCode<Source: FrameSource & ~Copyable>(
        from open: @escaping @Sendable () throws(CameraError) -> Source,
        limit: Duration,
        where isWanted: @escaping @Sendable (ScannedText) -> Bool,
        hint: @Sendable (CameraHint) -> Void
    ) async throws(Failure) -> ScannedText {
        let isOver = StopFlag()
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self)
        DedicatedThread.startOrRunHere {
            do throws(CameraError) {
                var source = try open()
                let code = try watch(&source, until: isOver, where: isWanted) { continuation.yield(.hint($0)) }
                if let code { continuation.yield(.ended(.success(code))) }
            } catch {
                continuation.yield(.ended(.failure(.camera(error))))
            }
        }
        let timer = Task {
            try? await Task.sleep(for: limit)
            continuation.yield(.ended(.failure(.timedOut)))
        }
        defer {
            timer.cancel()
            isOver.raise()
        }
        for await event in stream {
            switch event {
            case .hint(let what): hint(what)
            case .ended(let result): return try result.get()
            }
        }
        throw .cancelled
    }

    /// Looks at frames; `nil` once nobody waits any more.
    private static func watch<Source: FrameSource & ~Copyable>(
        _ source: inout Source,
        until isOver: StopFlag,
        where isWanted: (ScannedText) -> Bool,
        hint: (CameraHint) -> Void
    ) throws(CameraError) -> ScannedText? {
        var hints = HintChoice()
        let search: CodeSearch
        do throws(PictureError) { search = try CodeSearch() } catch { throw .picture(error) }
        while !isOver.isRaised {
            guard let frame = try source.nextFrame() else { continue }
            let finding: CodeSearch.Finding
            do throws(PictureError) {
                finding = try search.codesAtFirstSight(in: frame, where: isWanted)
            } catch {
                throw .picture(error)
            }
            if finding.wanted.count == 1 { return finding.wanted.first }
            if let new = hints.next(finding, isDark: frame.isDark) { hint(new) }
        }
        return nil
    }
}

/// Which hint to give: not each frame's own, or they would flicker.
struct HintChoice {
    /// So many frames in a row must say the same.
    static let steadiness = 5

    private var given: CameraHint?
    private var candidate: CameraHint?
    private var count = 0

    /// The hint to give after this frame, if it is a new one.
    mutating func next(_ finding: CodeSearch.Finding, isDark: Bool) -> CameraHint? {
        let hint: CameraHint =
            if finding.wanted.count > 1 {
                .severalCodes
            } else if finding.showsOthers {
                .anotherCode
            } else {
                isDark ? .tooDark : .noCode
            }
        count = hint == candidate ? count + 1 : 1
        candidate = hint
        guard count >= Self.steadiness, hint != given else { return nil }
        given = hint
        return hint
    }
}

extension GreyPicture {
    /// Whether hardly anything in it is brighter than a covered lens: 1 of 100 pixels at most.
    var isDark: Bool {
        withPixels { pixels in
            let step = max(1, pixels.count / 10_000)
            let samples = stride(from: 0, to: pixels.count, by: step)
            var (bright, count) = (0, 0)
            for index in samples {
                count += 1
                if pixels[index] > 40 { bright += 1 }
            }
            return bright * 100 <= count
        }
    }
}
