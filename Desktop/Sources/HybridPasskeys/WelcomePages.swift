// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import HybridPasskeysModel
internal import HybridTranslation
internal import HybridWidgets

/// The pages of the first start.
final class WelcomePages {
    private let window: AppWindow
    private let scan: ScanPage
    private let tree = WidgetTree(PackageResources.welcome_ui)
    private var model = WelcomeModel(existing: nil)
    private var process: AuthProcess?
    private let done: () -> Void

    /// Creates the pages in a window.
    ///
    /// - Parameters:
    ///   - window: The window.
    ///   - scan: The page that finds a relay's code.
    ///   - done: Called after the last step.
    init(in window: AppWindow, _ scan: ScanPage, done: @escaping () -> Void) {
        (self.window, self.scan, self.done) = (window, scan, done)
        window.set("welcome", tree["welcome-page"])
        window.actions.add("welcome-next") { [unowned self] in advance() }
        window.actions.add("welcome-later", done)
        window.actions.add("welcome-restore") { [unowned self] in
            window.chooseFile(tr("Choose a Backup")) { [weak self] path in
                guard let self, process == nil else { return }
                run(.restore(path: path))
            }
        }
        window.actions.add("choose-relay") { [unowned self] in start(at: .relay) }
        for (button, choice) in [
            ("choose-distribution", .distribution), ("choose-code", .code), ("choose-name", .name),
        ] as [(String, WelcomeModel.RelayChoice)] {
            tree[button].on("notify::active") { [unowned self] in
                if tree[button].flag("active") { choose(choice) }
            }
        }
        tree["relay-name"].on("changed") { [unowned self] in update() }
        tree["relay-name"].on("entry-activated") { [unowned self] in advance() }
    }

    /// Shows the first step, or a later one if the earlier ones are done.
    func start(at step: WelcomeStep = .introduction) {
        AuthProcess.run(.settings, for: nil) { [weak self] result in
            guard let self else { return }
            model = WelcomeModel(existing: (try? result.get()).flatMap { RelaySetting(settingsOutput: $0) })
            while let current = model.step, current.rawValue < step.rawValue { model.next() }
            isRelayOnly = step == .relay
            tree["relay-distribution"].isVisible = model.existing != nil
            tree["relay-distribution"].set("subtitle", model.existing?.name ?? "")
            tree[model.existing == nil ? "choose-code" : "choose-distribution"].set("active", true)
            window.showRoot("welcome")
            update()
        }
    }

    /// True if only another relay is chosen.
    private var isRelayOnly = false

    private func choose(_ choice: WelcomeModel.RelayChoice) {
        model.choose(choice)
        update()
        if choice == .name { tree["relay-name"].focus() }
    }

    private func advance() {
        guard process == nil else { return }
        switch model.step {
        case .introduction: model.next()
        case .relay where model.canContinue:
            if isRelayOnly { return done() }
            model.next()
        case .relay: chooseRelay()
        case .pin: run(.createVault)
        case .recovery: run(.createRecoveryCode)
        case nil: return done()
        }
        update()
    }

    private func chooseRelay() {
        switch model.choice {
        case .distribution: break
        case .name:
            let name = tree["relay-name"].text("text").trimmed
            guard WelcomeModel.isRelayName(name) else { return window.toast(tr("Enter a number or a host name")) }
            run(.setRelay(name: name))
        case .code:
            window.showRoot("main")
            scan.open(for: .relay) { [weak self] code in
                guard let self else { return }
                window.showRoot("welcome")
                window.leave(.scan)
                if let link = code?.relayLink { run(.setRelayLink(link)) }
            }
        }
    }

    private func run(_ command: AuthCommand) {
        model.begin()
        update()
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
                    if case .restore = command { model.endRestore() } else { model.end(status: 0) }
                case .failure(let failure):
                    model.receive(.failure(failure))
                    model.end(status: 1)
                }
                if model.step == nil { done() }
                update()
            }
        )
    }

    private func update() {
        guard let step = model.step else { return }
        tree["steps"].set("visible-child-name", step.name)
        let count = WelcomeStep.allCases.count
        tree["welcome-title"].set("subtitle", isRelayOnly ? "" : "\(step.rawValue)/\(count)")
        tree["relay-name"].isVisible = model.choice == .name
        show(model.relay.text, in: "relay-state")
        show(step == .relay ? "" : model.failure?.sentence ?? "", in: "welcome-problem")
        tree["welcome-next"].set("label", label(step))
        tree["welcome-next"].set("sensitive", !model.isBusy)
        tree["welcome-later"].isVisible = step == .recovery || isRelayOnly
        tree["welcome-restore"].isVisible = step == .pin
    }

    /// Shows a text, which screen readers say if it is new.
    private func show(_ text: String, in label: String) {
        let isNew = !text.isEmpty && tree[label].text("label") != text
        tree[label].show(text)
        if isNew { tree[label].announce(text) }
    }

    private func label(_ step: WelcomeStep) -> String {
        switch step {
        case .introduction: tr("Begin")
        case .relay where model.canContinue: isRelayOnly ? tr("Done") : tr("Next")
        case .relay: model.choice == .code ? tr("Scan Its Code") : tr("Check and Save")
        case .pin: tr("Choose a PIN")
        case .recovery: tr("Show the Code")
        }
    }
}

extension WelcomeStep {
    /// The name of the page.
    fileprivate var name: String {
        switch self {
        case .introduction: "introduction"
        case .relay: "relay"
        case .pin: "pin"
        case .recovery: "recovery"
        }
    }
}

extension String {
    /// The text without spaces around it.
    fileprivate var trimmed: String {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
