// SPDX-License-Identifier: Apache-2.0

internal import HybridTranslation

/// A stage of a scan as the user sees it.
package enum ScanStage: Equatable, Sendable {
    /// The page is not visible, or the camera rests.
    case idle(ScanPause?)
    /// The camera looks for a code.
    case viewfinder(CameraState)
    /// The code was found or given, and the helper starts.
    case codeFound
    /// The helper looks for the code in a picture.
    case readingPicture
    /// The helper connects to the other device.
    case connecting
    /// The other device asks for an operation, which the request sheet shows.
    case asked(ScanOperation)
    /// The request was answered.
    case done(ScanOperation)
    /// The request failed.
    case failed(AuthFailure)

    /// True while the helper runs.
    package var isRunning: Bool {
        switch self {
        case .codeFound, .readingPicture, .connecting, .asked: true
        default: false
        }
    }
}

/// A reason why the camera rests although the page is visible.
package enum ScanPause: Equatable, Sendable {
    /// Two minutes passed without a code.
    case timedOut
    /// The screen was locked.
    case screenLocked
}

/// The state of the camera.
package enum CameraState: Equatable, Sendable {
    /// There is no picture yet.
    case starting
    /// There are pictures; a hint says how to hold the code, if something is wrong.
    case running(hint: String?)
    /// There will be no pictures, for this reason.
    case unusable(CameraProblem)
}

/// A reason why there are no pictures of a camera.
package enum CameraProblem: Equatable, Sendable {
    /// There is none, or none that this program can use.
    case noCamera
    /// The user has turned cameras off in the settings of the desktop.
    case turnedOff
    /// It can't be used; the code is that of the cause, and the text is the reason in English, for support.
    case unusable(code: String, String)

    /// The heading.
    package var title: String {
        switch self {
        case .noCamera: tr("No camera found")
        case .turnedOff: tr("The camera is turned off")
        case .unusable: tr("The camera can't be used")
        }
    }

    /// The advice.
    package var advice: String {
        switch self {
        case .noCamera: tr("Use a picture of the code, or paste its text.")
        case .turnedOff: tr("Allow cameras in the privacy settings of this device.")
        case .unusable(let code, _):
            switch code {
            case "no-pipewire", "pipewire-missing", "pipewire-silent", "pipewire-ended", "pipewire-not-permitted",
                "no-camera-plugin", "camera-not-started":
                tr("A part of this device that serves cameras is missing or does not run. Use a picture of the code.")
            case "camera-unplugged": tr("It is gone. Plug it in, or use a picture of the code.")
            case "camera-format", "camera-flawed": tr("Its pictures can't be used. Use a picture of the code.")
            default: tr("Close other programs that use it, or use a picture of the code.")
            }
        }
    }

    /// The reason for support; empty if there is none.
    package var technical: String {
        if case .unusable(_, let reason) = self { reason.asSentence } else { "" }
    }
}

/// An operation that the other device asks for.
package enum ScanOperation: Equatable, Sendable {
    case signIn
    case create
    /// The operation is not known.
    case unknown

    init(_ name: String?) {
        switch name {
        case "sign-in": self = .signIn
        case "create": self = .create
        default: self = .unknown
        }
    }
}

/// The state machine of the scan page.
package struct ScanModel: Sendable {
    /// Time for which the camera looks for a code.
    package static let cameraLimit = Duration.seconds(120)

    /// The stage.
    package private(set) var stage = ScanStage.idle(nil)
    private var operation = ScanOperation.unknown
    private var failure: AuthFailure?
    private var isCancelled = false

    /// Creates an idle model.
    package init() {}

    /// True while the camera must run.
    package var needsCamera: Bool {
        switch stage {
        case .viewfinder(.starting), .viewfinder(.running): true
        default: false
        }
    }

    // MARK: - The page and the camera

    /// The page appears, or the user wants to scan again.
    package mutating func open() {
        guard !stage.isRunning else { return }
        self = ScanModel()
        stage = .viewfinder(.starting)
    }

    /// The page disappears; a running request goes on.
    package mutating func close() {
        guard !stage.isRunning else { return }
        stage = .idle(nil)
    }

    /// The camera has been looking for a code long enough, or the screen is locked.
    package mutating func pause(_ reason: ScanPause) {
        if case .viewfinder = stage { stage = .idle(reason) }
    }

    /// The camera's state changes.
    package mutating func show(_ camera: CameraState) {
        if case .viewfinder = stage { stage = .viewfinder(camera) }
    }

    // MARK: - The request

    /// A code is there, and the helper is started; returns false if another request runs.
    package mutating func begin() -> Bool { begin(.codeFound) }

    /// The helper is started with a picture; returns false if another request runs.
    package mutating func beginPicture() -> Bool { begin(.readingPicture) }

    private mutating func begin(_ stage: ScanStage) -> Bool {
        guard !self.stage.isRunning else { return false }
        self = ScanModel()
        self.stage = stage
        return true
    }

    /// Applies an event of the helper.
    package mutating func receive(_ event: AuthEvent) {
        guard stage.isRunning else { return }
        switch event {
        case .state("tunnel-open", _), .state("advertising", _), .state("connected", _): stage = .connecting
        case .state("asked", let name):
            operation = ScanOperation(name)
            stage = .asked(operation)
        case .failure(let failure): self.failure = failure
        default: break
        }
    }

    /// The user ends the request; the helper is interrupted.
    package mutating func cancel() {
        if stage.isRunning { isCancelled = true }
    }

    /// The helper has ended.
    ///
    /// - Parameters:
    ///   - status: The exit status; `nil` after a signal.
    ///   - lastLine: The last line on standard error.
    package mutating func end(status: Int32?, lastLine: String = "") {
        guard stage.isRunning else { return }
        let failure = failure ?? AuthFailure(status: status, lastLine: lastLine)
        if status == 0 {
            stage = .done(operation)
        } else if isCancelled || failure.isCancellation {
            stage = .idle(nil)
        } else {
            stage = .failed(failure)
        }
        isCancelled = false
    }

    /// The helper could not be started.
    package mutating func fail(_ failure: AuthFailure) { stage = .failed(failure) }
}

extension ScanStage {
    /// The state as a heading.
    package var title: String {
        switch self {
        case .idle(nil): tr("Ready to scan")
        case .idle(.timedOut?): tr("No code was found")
        case .idle(.screenLocked?): tr("The camera rests")
        case .viewfinder(.unusable(let problem)): problem.title
        case .viewfinder(.starting): tr("Starting the camera")
        case .viewfinder(.running(let hint)): hint ?? tr("Hold the code in front of the camera")
        case .codeFound: tr("Code found")
        case .readingPicture: tr("Looking for the code in the picture")
        case .connecting: tr("Connecting to the other device")
        case .asked(.signIn): tr("The other device asks for a sign-in")
        case .asked(.create): tr("The other device asks for a new passkey")
        case .asked(.unknown): tr("The other device asks for something")
        case .done(.create): tr("Passkey created")
        case .done(.signIn): tr("Signed in")
        case .done(.unknown): tr("Done")
        case .failed(let failure): failure.words.title
        }
    }

    /// The advice below the heading; empty if there is none.
    package var advice: String {
        switch self {
        case .idle(.timedOut?): tr("Show a new code on the other device, and scan again.")
        case .viewfinder(.unusable(let problem)): problem.advice
        case .codeFound, .connecting: tr("Stay close to the other device.")
        case .asked: tr("Answer in the window that opens.")
        case .done: tr("Continue on the other device.")
        case .failed(let failure): failure.words.advice
        default: ""
        }
    }
}
