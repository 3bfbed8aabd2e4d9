// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import HybridPasskeysModel
internal import HybridPrimitives
internal import HybridQRCode
internal import HybridTranslation
internal import HybridWidgets

/// The page of a transfer of passkeys from or to another device: code, digits and progress.
///
/// The helper asks whether the digits are equal, and for the PIN.
final class TransferPage {
    /// Width of the light border of a code in modules, and the least and the wanted side of its picture in pixels.
    private static let (border, leastModule, wantedSide) = (4, 3, 300)

    private let window: AppWindow
    private let scan: ScanPage
    private let tree = WidgetTree(PackageResources.transfer_ui)
    private var model = TransferModel()
    private var process: AuthProcess?
    private var last: (stage: TransferStage, list: String?)?

    /// Called after a transfer that has ended well.
    var onDone: () -> Void = {}

    /// Creates the page in a window.
    init(in window: AppWindow, _ scan: ScanPage) {
        (self.window, self.scan) = (window, scan)
        window.add(.transfer, tree["transfer"])
        window.actions.add("receive") { [unowned self] in start(.receive, nil) }
        window.actions.add("transfer-cancel") { [unowned self] in cancel() }
        update()
    }

    /// Looks for a code, and gives a passkey to the device that shows it.
    func give(_ passkey: String) {
        scan.open(for: .transfer) { [weak self] code in
            if let code { self?.start(.give(id: passkey), code) }
        }
    }

    /// Ends the transfer.
    func cancel() { process?.interrupt() }

    /// Ends a transfer whose code is not on the screen any more.
    func pageChanged() {
        if case .code = model.stage, !window.isOpen(.transfer) { cancel() }
    }

    private func start(_ command: AuthCommand, _ code: ScannedCode?) {
        guard process == nil else { return window.toast(tr("Another request is in progress")) }
        model.begin(isGiver: code != nil)
        window.open(.transfer, title: code == nil ? tr("Receive Passkeys") : tr("Give Passkey"))
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
                model.end(result)
                update()
                if model.stage == .idle { window.leave(.transfer) }
                if case .success = result { onDone() }
            }
        )
        if let code { process?.write(UnsafeRawBufferPointer(code.line.memory)) }
        update()
    }

    private func update() {
        let (stage, list) = (model.stage, model.list)
        guard stage != last?.stage || list != last?.list else { return }
        let isNew = stage != last?.stage
        last = (stage, list)
        var code: QRMatrix?
        var progress: Double?
        if case .code(let shown) = stage { code = shown }
        if case .stored(let count, let total) = stage { progress = total > 0 ? Double(count) / Double(total) : 1 }
        show(code)
        tree["transfer-status"].set("icon-name", stage.icon)
        tree["transfer-status"].set("title", stage.title)
        tree["transfer-status"].set("description", Markup.escaped(stage.advice))
        tree["transfer-digits"].show(stage.digits)
        tree["transfer-list"].show(list)
        tree["transfer-progress"].isVisible = progress != nil
        tree["transfer-progress"].set("fraction", progress ?? 0)
        tree["transfer-spinner"].set("spinning", stage.isWaiting)
        tree["transfer-spinner"].isVisible = stage.isWaiting
        tree["transfer-cancel"].isVisible = stage.isRunning
        if case .failed(let failure) = stage {
            tree["transfer-technical"].show(failure.technical)
        } else {
            tree["transfer-technical"].show(nil)
        }
        if isNew, stage != .idle { tree["transfer-status"].announce(stage.title) }
    }

    /// Shows a code, dark on light in every theme, or none.
    private func show(_ code: QRMatrix?) {
        tree["transfer-code"].isVisible = code != nil
        guard let code else { return hybrid_clear_picture(tree["transfer-code"].pointer) }
        let modules = code.size + 2 * Self.border
        let module = max(Self.leastModule, Self.wantedSide / modules)
        let side = modules * module
        withUnsafeTemporaryAllocation(byteCount: side * side * 3, alignment: 1) { pixels in
            for y in 0..<side {
                let row = y / module - Self.border
                for x in 0..<side {
                    let column = x / module - Self.border
                    let isInside = (0..<code.size).contains(row) && (0..<code.size).contains(column)
                    let isDark = isInside && code.isDark(column: column, row: row)
                    for color in 0..<3 { pixels[(y * side + x) * 3 + color] = isDark ? 0 : 255 }
                }
            }
            hybrid_show_pixels(tree["transfer-code"].pointer, pixels.baseAddress, CInt(side), CInt(side))
            SecretBytes.wipe(pixels)
        }
    }
}

extension TransferStage {
    /// The symbol of the stage.
    fileprivate var icon: String? {
        switch self {
        case .done: "object-select-symbolic"
        case .failed: "dialog-warning-symbolic"
        default: nil
        }
    }

    /// True while there is nothing to look at.
    fileprivate var isWaiting: Bool { self == .connecting || self == .waiting }
}
