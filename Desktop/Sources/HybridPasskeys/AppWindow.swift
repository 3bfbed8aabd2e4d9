// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import HybridPasskeysModel
internal import HybridTranslation
internal import HybridWidgets

/// The window, in which the pages are shown; they share its actions, its messages and its questions.
final class AppWindow {
    /// A page on the right side, or above the list on narrow windows.
    enum Page: String {
        case none
        case passkey
        case computer
        case scan
        case transfer
        case check
        case vault
    }

    private let tree = WidgetTree(PackageResources.window_ui)
    /// The window itself.
    let element: Element
    /// The actions of all pages.
    ///
    /// They are in a group of the window's own, because those of the application are exported on the session bus.
    let actions: ActionGroup
    /// The user's clock.
    let clock = LocalClock(now: { hybrid_now() }, offset: { hybrid_utc_offset($0) })
    /// Called when the visible page may have changed.
    var onPageChange: () -> Void = {}

    /// Creates the window without showing it.
    init(of application: Element) {
        element = tree["window"]
        element.set("application", application)
        actions = ActionGroup("ui", of: element)
        tree["split"].on("notify::show-content") { [unowned self] in onPageChange() }
        tree["split"].on("notify::collapsed") { [unowned self] in onPageChange() }
        tree["pages"].on("notify::visible-child") { [unowned self] in onPageChange() }
        element.on("notify::suspended") { [unowned self] in onPageChange() }
    }

    /// Adds the widget of a page.
    func add(_ page: Page, _ widget: Element) {
        hybrid_stack_add(tree["pages"].pointer, widget.pointer, page.rawValue)
    }

    /// Sets the widget of a place that the window has: `passkeys`, `computers` or `welcome`.
    func set(_ place: String, _ widget: Element) { tree[place].set("child", widget) }

    /// Shows the first start, the pages, or nothing yet.
    func showRoot(_ name: String) {
        if tree["root"].text("visible-child-name") != name { tree["root"].set("visible-child-name", name) }
    }

    /// Shows a failure in place of all pages.
    func showProblem(_ failure: AuthFailure) {
        tree["problem"].set("title", failure.words.title)
        tree["problem"].set("description", Markup.escaped(failure.words.advice))
        tree["problem-technical"].show(failure.technical)
        showRoot("problem")
    }

    /// Opens a page.
    func open(_ page: Page, title: String) {
        tree["content"].set("title", title)
        tree["pages"].set("visible-child-name", page.rawValue)
        tree["split"].set("show-content", true)
        onPageChange()
    }

    /// Leaves a page, if it is open.
    func leave(_ page: Page) {
        guard tree["pages"].text("visible-child-name") == page.rawValue else { return }
        tree["split"].set("show-content", false)
        tree["content"].set("title", tr("Passkeys"))
        tree["pages"].set("visible-child-name", Page.none.rawValue)
    }

    /// Shows the list of passkeys or of computers.
    func showList(_ name: String) {
        tree["views"].set("visible-child-name", name)
        tree["split"].set("show-content", false)
    }

    /// True if a page is open, even if the window is hidden.
    func isOpen(_ page: Page) -> Bool {
        tree["pages"].text("visible-child-name") == page.rawValue
            && (!tree["split"].flag("collapsed") || tree["split"].flag("show-content"))
    }

    /// True if the user can see a page.
    func isOnScreen(_ page: Page) -> Bool {
        isOpen(page) && tree["root"].text("visible-child-name") == "main" && element.flag("visible")
            && !element.flag("suspended")
    }

    // MARK: - Messages and questions

    /// Shows a message for a moment.
    ///
    /// - Parameters:
    ///   - text: The message.
    ///   - button: The label and the closure of a button.
    func toast(_ text: String, button: (label: String, body: () -> Void)? = nil) {
        let toast = Element(type: UInt(adw_toast_get_type()))
        toast.set("use-markup", false)
        toast.set("title", text)
        if let button {
            toast.set("button-label", button.label)
            // Long enough to read it and to decide.
            toast.set("timeout", 12)
            toast.on("button-clicked", button.body)
        }
        hybrid_add_toast(tree["toasts"].pointer, toast.pointer)
    }

    /// Shows a failure, unless the user has caused it.
    func report(_ failure: AuthFailure) {
        guard !failure.isCancellation, failure.code != "declined" else { return }
        guard !failure.technical.isEmpty, failure.words.advice.isEmpty || failure.code == "unknown" else {
            return toast(failure.sentence)
        }
        inform(failure.words.title, failure.words.advice, failure.technical)
    }

    /// Shows paragraphs that the user closes; empty ones are left out.
    func inform(_ heading: String, _ paragraphs: String...) {
        let alert = Self.alert(heading, paragraphs.filter { !$0.isEmpty })
        hybrid_alert_add(alert.pointer, "close", tr("Close"), 0)
        hybrid_dialog_present(alert.pointer, element.pointer)
    }

    /// Asks whether to do something that can't be undone.
    func confirm(_ heading: String, _ body: String, button: String, _ agreed: @escaping () -> Void) {
        let alert = Self.alert(heading, [body])
        hybrid_alert_add(alert.pointer, "cancel", tr("Cancel"), 0)
        hybrid_alert_add(alert.pointer, "agree", button, 1)
        alert.set("close-response", "cancel")
        alert.on("response", with: { if $0.text(0) == "agree" { agreed() } })
        hybrid_dialog_present(alert.pointer, element.pointer)
    }

    private static func alert(_ heading: String, _ paragraphs: [String]) -> Element {
        Element(hybrid_alert_new(heading, paragraphs.joined(separator: "\n\n")))
    }

    /// Lets the user choose a file.
    ///
    /// - Parameters:
    ///   - title: The title of the dialog.
    ///   - name: The proposed name of a new file; `nil` for an existing file.
    ///   - mime: The type of the files that are offered.
    ///   - chosen: Receives the path.
    func chooseFile(_ title: String, name: String? = nil, mime: String? = nil, _ chosen: @escaping (String) -> Void) {
        let handler = Unmanaged.passRetained(TextReceiver(chosen)).toOpaque()
        hybrid_choose_file(element.pointer, title, name, mime, { TextReceiver.finish($0, $1) }, handler)
    }

    /// Reads the text of the clipboard.
    func readClipboard(_ body: @escaping (String) -> Void) {
        let handler = Unmanaged.passRetained(TextReceiver(body)).toOpaque()
        hybrid_read_clipboard(element.pointer, { TextReceiver.finish($0, $1) }, handler)
    }
}

/// A closure that is called at most once, with a text that C passes.
private final class TextReceiver {
    private let body: (String) -> Void

    init(_ body: @escaping (String) -> Void) { self.body = body }

    static func finish(_ data: UnsafeMutableRawPointer?, _ text: UnsafePointer<CChar>?) {
        guard let data else { return }
        let receiver = Unmanaged<TextReceiver>.fromOpaque(data).takeRetainedValue()
        if let text { receiver.body(String(cString: text)) }
    }
}

/// Markup of Pango, which descriptions of status pages are.
enum Markup {
    /// Returns markup that shows a text as it is.
    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "&": result += "&amp;"
            default: result.append(character)
            }
        }
        return result
    }
}
