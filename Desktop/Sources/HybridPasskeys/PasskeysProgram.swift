// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import HybridPasskeysModel
internal import HybridTranslation
internal import HybridWidgets

/// A run of the program: one application with one window, which other starts and opened links reach over D-Bus.
final class PasskeysProgram {
    private let application = Element(owned: hybrid_application_new(Toolkit.applicationID))
    private var interface: Interface?

    /// The window and its pages.
    private final class Interface {
        let window: AppWindow
        let passkeys: PasskeyPages
        let scan: ScanPage
        let computers: ComputerPages
        let vault: VaultPage
        let check: CheckPage
        let transfer: TransferPage
        var welcome: WelcomePages?

        init(of application: Element) {
            Toolkit.addStyle(PackageResources.style_css)
            window = AppWindow(of: application)
            let care = WidgetTree(PackageResources.care_ui)
            scan = ScanPage(in: window)
            passkeys = PasskeyPages(in: window)
            computers = ComputerPages(in: window)
            vault = VaultPage(in: window, care)
            check = CheckPage(in: window, care)
            transfer = TransferPage(in: window, scan)
            welcome = WelcomePages(in: window, scan) { [unowned self] in
                vault.reload()
                window.showRoot("main")
            }
            // A request may have linked the computer, too.
            scan.onDone = { [unowned self] in
                passkeys.reload()
                computers.reload()
            }
            passkeys.onGive = { [unowned self] in transfer.give($0) }
            transfer.onDone = { [unowned self] in
                passkeys.reload()
                vault.reload()
            }
            vault.onChange = { [unowned self] in passkeys.reload() }
            window.onPageChange = { [unowned self] in
                scan.pageChanged()
                check.pageChanged()
                transfer.pageChanged()
            }
            window.actions.add("reload") { [unowned self] in load() }
            window.actions.add("computers") { [unowned self] in window.showList("computers") }
            window.actions.add("about") { [unowned self] in About.show(on: window.element) }
        }

        /// Reads what needs no PIN, and shows the pages or the first start.
        func load() {
            vault.onStatus = { [unowned self] status in
                switch status {
                case .success(let overview):
                    passkeys.show(overview.advice)
                    window.showRoot("main")
                // A link that was opened is answered first; that makes the vault.
                case .failure where scan.isRunning: window.showRoot("main")
                case .failure(let failure) where failure.isMissingVault: welcome?.start()
                case .failure(let failure): window.showProblem(failure)
                }
            }
            vault.reload()
            computers.reload()
        }
    }

    /// Runs the application; returns the exit status.
    func run() -> Int32 {
        application.on("startup") { [unowned self] in start() }
        application.on("activate") { [unowned self] in present() }
        let data = Unmanaged.passUnretained(self).toOpaque()
        hybrid_application_on_open(
            application.pointer,
            { data, uri in
                guard let data, let uri else { return }
                Unmanaged<PasskeysProgram>.fromOpaque(data).takeUnretainedValue().open(String(cString: uri))
            },
            data
        )
        return CommandLine.withPointers { hybrid_application_run(application.pointer, $0, $1) }
    }

    private func start() {
        // The desktop file offers these two, so any program may activate them: they only show a page.
        add("scan") { $0.scan.open() }
        add("passkeys") { $0.window.showList("passkeys") }
        hybrid_application_set_accelerator(application.pointer, "window.close", "<Control>w")
        hybrid_application_set_accelerator(application.pointer, "ui.scan", "<Control>n")
        application.set("register-session", true)
        application.on("notify::screensaver-active") { [unowned self] in
            guard application.flag("screensaver-active") else { return }
            interface?.scan.screenLocked()
        }
    }

    private func add(_ name: String, _ body: @escaping (Interface) -> Void) {
        guard let pointer = hybrid_application_add_action(application.pointer, name) else { return }
        Element(owned: pointer).on("activate") { [unowned self] in
            present()
            if let interface { body(interface) }
        }
    }

    private func present() {
        if interface == nil {
            interface = Interface(of: application)
            interface?.load()
            interface?.window.element.on("close-request") { [unowned self] in
                interface?.passkeys.lock()
                interface?.scan.cancel()
                interface?.transfer.cancel()
            }
        }
        interface?.window.element.present()
    }

    private func open(_ uri: String) {
        present()
        interface?.scan.open(link: uri)
    }
}

extension CommandLine {
    /// Calls a closure with the arguments as C has them.
    fileprivate static func withPointers(
        _ body: (CInt, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32
    ) -> Int32 { body(argc, unsafeArgv) }
}
