// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import HybridPasskeysModel
internal import HybridPrimitives
internal import HybridTranslation
internal import HybridWidgets

/// The page with the viewfinder, and the progress of a request.
final class ScanPage {
    private let window: AppWindow
    private let tree = WidgetTree(PackageResources.scan_ui)
    private var model = ScanModel()
    private var process: AuthProcess?
    private var viewfinder: Viewfinder?
    private var limit: GLibSource?
    private var last: ScanStage?
    /// True if the camera rests only because the page is not visible.
    private var isHidden = false
    /// The code that is wanted in place of one of a sign-in; the closure gets it, or `nil` if the page was left.
    private var wanted: (kind: ScannedCode.Kind, found: (ScannedCode?) -> Void)?

    /// Called after a request that was answered.
    var onDone: () -> Void = {}
    /// True while a request is answered.
    var isRunning: Bool { model.stage.isRunning }

    /// Creates the page in a window.
    init(in window: AppWindow) {
        self.window = window
        window.add(.scan, tree["scan"])
        window.actions.add("scan") { [unowned self] in open() }
        window.actions.add("scan-again") { [unowned self] in
            model.open()
            update()
        }
        window.actions.add("scan-cancel") { [unowned self] in cancel() }
        window.actions.add("scan-leave") { [unowned self] in self.window.leave(.scan) }
        window.actions.add("scan-image") { [unowned self] in chooseImage() }
        window.actions.add("scan-paste") { [unowned self] in paste() }
        window.actions.add("switch-camera") { [unowned self] in viewfinder?.selectNext() }
        update()
    }

    /// Opens the page and looks for a code.
    func open() {
        (wanted, isHidden) = (nil, false)
        window.open(.scan, title: tr("Scan"))
        if !model.needsCamera { model.open() }
        update()
    }

    /// Opens the page and looks for a code of another kind; the closure gets it, or `nil` if the user leaves the page.
    func open(for kind: ScannedCode.Kind, _ found: @escaping (ScannedCode?) -> Void) {
        open()
        wanted = (kind, found)
        update()
    }

    /// Ends the request that is answered.
    func cancel() {
        model.cancel()
        process?.interrupt()
    }

    /// Answers the code of a link that was opened.
    func open(link: String) {
        guard let code = ScannedCode(link) else { return window.toast(tr("This link is not the code of a sign-in")) }
        window.showRoot("main")
        window.open(.scan, title: tr("Scan"))
        answer(code, .scanLink)
    }

    /// Stops or starts the camera, when the page appears or disappears.
    func pageChanged() {
        let isOnScreen = window.isOnScreen(.scan)
        if model.needsCamera, !isOnScreen {
            model.close()
            isHidden = true
        } else if isHidden, isOnScreen {
            isHidden = false
            model.open()
        }
        if let wanted, !window.isOpen(.scan) {
            self.wanted = nil
            wanted.found(nil)
        }
        update()
    }

    /// Stops the camera, because the screen is locked.
    func screenLocked() {
        model.pause(.screenLocked)
        update()
    }

    // MARK: - Sources of a code

    private func found(_ bytes: [UInt8]) {
        guard let code = ScannedCode(bytes) else { return }
        answer(code, .scanCode)
    }

    private func chooseImage() {
        window.chooseFile(tr("Choose a Picture of the Code"), mime: "image/*") { [weak self] path in
            guard let self, model.beginPicture() else { return }
            start(.scanImage(path: path), nil)
        }
    }

    private func paste() {
        window.readClipboard { [weak self] text in
            guard let self else { return }
            guard let code = ScannedCode(text) else {
                return window.toast(tr("The clipboard has no code; copy the whole text of the code"))
            }
            answer(code, .scanCode)
        }
    }

    private func answer(_ code: ScannedCode, _ command: AuthCommand) {
        if code.kind != wanted?.kind ?? .signIn {
            window.toast(code.kind.text)
            // The camera rests after each code.
            model.close()
            update()
            model.open()
            return update()
        }
        if let wanted {
            self.wanted = nil
            model.close()
            update()
            return wanted.found(code)
        }
        guard model.begin() else { return window.toast(tr("Another request is in progress")) }
        hybrid_give_feedback(Toolkit.applicationID)
        start(command, code)
    }

    // MARK: - The request

    private func start(_ command: AuthCommand, _ code: ScannedCode?) {
        process = AuthProcess.run(
            command,
            for: window.element,
            onEvent: { [weak self] event in
                self?.model.receive(event)
                self?.update()
            },
            { [weak self] result in
                guard let self else { return }
                process = nil
                switch result {
                case .success:
                    model.end(status: 0)
                    onDone()
                case .failure(let failure):
                    model.receive(.failure(failure))
                    model.end(status: 1)
                }
                update()
            }
        )
        if let code {
            process?.write(UnsafeRawBufferPointer(code.line.memory))
        }
        // Last, because it waits for the end of the camera.
        update()
    }

    // MARK: - The page

    private func update() {
        runCamera()
        // A picture is answered as a sign-in, so it is offered for no other code.
        tree["image-way"].isVisible = wanted == nil
        // Wide windows have no other way back from a page.
        tree["scan-leave"].isVisible = wanted != nil
        guard model.stage != last else { return }
        last = model.stage
        let stage = model.stage
        if case .viewfinder(let camera) = stage, !isUnusable(camera) {
            tree["hint"].show(stage.title)
            tree["hint"].announce(stage.title)
            tree["scan-states"].set("visible-child-name", "viewfinder")
        } else {
            tree["scan-status"].set("icon-name", stage.icon)
            tree["scan-status"].set("title", stage.title)
            tree["scan-status"].set("description", Markup.escaped(stage.advice))
            tree["scan-technical"].show(stage.technical)
            tree["scan-spinner"].set("spinning", stage.isRunning)
            tree["scan-spinner"].isVisible = stage.isRunning
            tree["scan-cancel"].isVisible = stage.isRunning
            tree["scan-again"].isVisible = !stage.isRunning
            tree["scan-again"].set("label", stage.isProblem ? tr("Try Again") : tr("Scan a Code"))
            tree["scan-states"].set("visible-child-name", "status")
            tree["scan-status"].announce(stage.title)
        }
        tree["other-ways"].isVisible = !stage.isRunning
    }

    private func isUnusable(_ camera: CameraState) -> Bool {
        if case .unusable = camera { true } else { false }
    }

    private func runCamera() {
        if !model.needsCamera {
            limit?.cancel()
            limit = nil
            viewfinder?.stop()
            viewfinder = nil
            hybrid_clear_picture(tree["picture"].pointer)
            tree["switch-camera"].isVisible = false
        } else if viewfinder == nil {
            let milliseconds = Int(ScanModel.cameraLimit / .milliseconds(1))
            limit = GLibSource.after(milliseconds: milliseconds) { [weak self] in
                self?.model.pause(.timedOut)
                self?.update()
            }
            viewfinder = Viewfinder(picture: tree["picture"]) { [weak self] event in self?.receive(event) }
        }
    }

    private func receive(_ event: Viewfinder.Event) {
        switch event {
        case .state(let state): model.show(state)
        case .cameras(let count): tree["switch-camera"].isVisible = count > 1
        case .code(let bytes): return found(bytes)
        }
        update()
    }
}

extension ScannedCode.Kind {
    /// A sentence for users who want a code of another kind.
    fileprivate var text: String {
        switch self {
        case .signIn: tr("This is the code of a sign-in")
        case .relay: tr("This is the code of a relay")
        case .transfer: tr("This code asks for passkeys. Open one, and give it from there.")
        }
    }
}

extension ScanStage {
    /// The symbol of the stage.
    fileprivate var icon: String? {
        switch self {
        case .done: "object-select-symbolic"
        case .failed: "dialog-warning-symbolic"
        case .viewfinder, .idle: "camera-photo-symbolic"
        case .codeFound: "object-select-symbolic"
        default: nil
        }
    }

    /// True if something did not work.
    fileprivate var isProblem: Bool {
        switch self {
        case .failed, .viewfinder: true
        default: false
        }
    }

    /// The helper's own words, for support.
    fileprivate var technical: String {
        switch self {
        case .failed(let failure): failure.technical
        case .viewfinder(.unusable(let problem)): problem.technical
        default: ""
        }
    }
}
