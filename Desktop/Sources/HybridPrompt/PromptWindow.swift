// SPDX-License-Identifier: Apache-2.0

internal import CHybridGTK
internal import HybridPromptModel
internal import HybridQRCode

/// A pointer to a widget of GTK.
typealias Widget = UnsafeMutablePointer<GtkWidget>

/// The window with the code, the state and the buttons; it only shows a ``PromptView`` and reports buttons and keys.
///
/// Signal handlers of GTK receive this object without a reference of their own, so it lives until the program ends.
final class PromptWindow {
    private let window: Widget
    private let purpose = hybrid_label("title-2", GTK_ACCESSIBLE_ROLE_LABEL)
    private let details = hybrid_label(nil, GTK_ACCESSIBLE_ROLE_LABEL)
    private let cautions = hybrid_label(nil, GTK_ACCESSIBLE_ROLE_LABEL)
    private let warning = hybrid_label("heading", GTK_ACCESSIBLE_ROLE_ALERT)
    private let stage = hybrid_label("heading", GTK_ACCESSIBLE_ROLE_STATUS)
    private let digits = hybrid_label("title-1", GTK_ACCESSIBLE_ROLE_STATUS)
    private let passkeys = hybrid_label(nil, GTK_ACCESSIBLE_ROLE_STATUS)
    private let note = hybrid_label(nil, GTK_ACCESSIBLE_ROLE_STATUS)
    private let failure = hybrid_label(nil, GTK_ACCESSIBLE_ROLE_ALERT)
    private let remaining = hybrid_label("numeric", GTK_ACCESSIBLE_ROLE_TIMER)
    private let offerButton = gtk_button_new_with_label("")
    private let lastingButton = gtk_button_new_with_label("Always for This Host and Site")
    private let cancelButton = gtk_button_new_with_label("")
    private var area: Widget?
    private var code: QRMatrix?
    private var offer: PromptAnswer?
    private var lastingOffer: PromptAnswer?
    private let report: (PromptAnswer) -> Void

    /// Creates the window without showing it; `nil` if GTK has no display.
    ///
    /// - Parameter report: A closure that is called when the user presses a button or Escape, or closes the window.
    init?(report: @escaping (PromptAnswer) -> Void) {
        guard let window = gtk_window_new() else { return nil }
        self.window = window
        self.report = report
        let data = Unmanaged.passUnretained(self).toOpaque()
        area = hybrid_drawing_area(
            "QR code",
            { _, context, width, height, data in
                PromptWindow.of(data)?.draw(context, (width, height))
            },
            data
        )
        arrange()
        connect(data)
    }

    /// Shows a view, and the window if it is not on the screen yet.
    ///
    /// - Parameters:
    ///   - view: The view.
    ///   - now: The current time.
    func show(_ view: PromptView, at now: ContinuousClock.Instant) {
        let purposeText = view.request?.purpose ?? "Sign in with your phone"
        hybrid_window_set_title(window, purposeText)
        set(purpose, purposeText)
        set(details, view.request?.details.joined(separator: "\n"))
        // Sentences that need several lines each would run together.
        set(cautions, view.cautions.joined(separator: "\n\n"))
        set(warning, view.warnings.joined(separator: "\n"))
        set(stage, view.stageText)
        set(digits, view.digits)
        set(passkeys, view.passkeyList)
        set(note, view.note)
        set(failure, view.failure.joined(separator: "\n"))
        showRemaining(view, at: now)
        showCode(view.code)
        showButtons(view)
        guard gtk_widget_get_visible(window) == 0 else { return }
        hybrid_window_present(window)
        // Otherwise, GTK would give the focus to the first button.
        hybrid_window_set_focus(window, view.isOfferDefault ? offerButton : nil)
    }

    /// Shows the remaining time of a view.
    func showRemaining(_ view: PromptView, at now: ContinuousClock.Instant) {
        set(remaining, view.remaining(at: now).map { "\($0) left" })
    }

    private func showCode(_ code: QRMatrix?) {
        guard code != self.code else { return }
        self.code = code
        if let code { hybrid_drawing_area_set_side(area, CodeDrawing.side(code)) }
        gtk_widget_set_visible(area, code == nil ? 0 : 1)
        gtk_widget_queue_draw(area)
        hybrid_window_fit(window)
    }

    private func showButtons(_ view: PromptView) {
        hybrid_button_set_label(cancelButton, view.isOver ? "Close" : "Cancel")
        guard view.offer != offer || view.lastingOffer != lastingOffer || view.isOver else { return }
        (offer, lastingOffer) = (view.offer, view.lastingOffer)
        hybrid_button_set_label(offerButton, view.offerText)
        // GTK would move the focus from a button that is hidden to the next one.
        hybrid_window_set_focus(window, nil)
        gtk_widget_set_visible(offerButton, offer == nil ? 0 : 1)
        gtk_widget_set_visible(lastingButton, lastingOffer == nil ? 0 : 1)
        // Without an offer, Enter does nothing, so that a user who types when the window appears does not cancel.
        let standard = view.isOver ? cancelButton : view.isOfferDefault ? offerButton : nil
        hybrid_window_set_default(window, standard)
        hybrid_window_set_focus(window, standard)
    }

    /// Sets the text of a label, which is hidden without text.
    private func set(_ label: Widget?, _ text: String?) {
        let text = text ?? ""
        // A screen reader would read an unchanged text again.
        if hybrid_label_text(label).map({ String(cString: $0) }) != text { hybrid_label_set_text(label, text) }
        gtk_widget_set_visible(label, text.isEmpty ? 0 : 1)
    }

    private func draw(_ context: OpaquePointer?, _ size: (width: CInt, height: CInt)) {
        guard let code, let context else { return }
        CodeDrawing.draw(code, context, size: size, scale: gtk_widget_get_scale_factor(area))
    }

    private func arrange() {
        let column = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12)
        let buttons = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12)
        for set in [
            gtk_widget_set_margin_top, gtk_widget_set_margin_bottom, gtk_widget_set_margin_start,
            gtk_widget_set_margin_end,
        ] { set(column, 24) }
        for widget in [
            purpose, details, cautions, warning, area, stage, digits, passkeys, note, failure, remaining, buttons,
            lastingButton,
        ] { hybrid_box_append(column, widget) }
        // The code takes the room of a larger window.
        gtk_widget_set_vexpand(area, 1)
        gtk_widget_set_visible(area, 0)
        gtk_widget_set_visible(offerButton, 0)
        gtk_widget_add_css_class(offerButton, "suggested-action")
        gtk_widget_set_halign(buttons, GTK_ALIGN_CENTER)
        // On a row of its own, which large text needs, and last for Tab, because it has the most effect.
        gtk_widget_set_visible(lastingButton, 0)
        gtk_widget_set_halign(lastingButton, GTK_ALIGN_CENTER)
        hybrid_box_append(buttons, cancelButton)
        hybrid_box_append(buttons, offerButton)
        gtk_widget_set_size_request(column, 336, -1)
        hybrid_window_set_child(window, column)
    }

    private func connect(_ data: UnsafeMutableRawPointer) {
        let cancel: @convention(c) (Widget?, gpointer?) -> Void = { _, data in PromptWindow.of(data)?.report(.cancel) }
        let accept: @convention(c) (Widget?, gpointer?) -> Void = { _, data in
            PromptWindow.of(data).map { $0.accept($0.offer) }
        }
        let acceptAlways: @convention(c) (Widget?, gpointer?) -> Void = { _, data in
            PromptWindow.of(data).map { $0.accept($0.lastingOffer) }
        }
        // The window closes when the program ends.
        let close: @convention(c) (Widget?, gpointer?) -> gboolean = { _, data in
            PromptWindow.of(data)?.report(.cancel)
            return 1
        }
        hybrid_connect(cancelButton, "clicked", unsafeBitCast(cancel, to: GCallback.self), data)
        hybrid_connect(offerButton, "clicked", unsafeBitCast(accept, to: GCallback.self), data)
        hybrid_connect(lastingButton, "clicked", unsafeBitCast(acceptAlways, to: GCallback.self), data)
        hybrid_connect(window, "close-request", unsafeBitCast(close, to: GCallback.self), data)
        hybrid_window_add_escape(
            window,
            { _, _, data in
                PromptWindow.of(data)?.report(.cancel)
                return 1
            },
            data
        )
    }

    private func accept(_ offer: PromptAnswer?) {
        if let offer { report(offer) }
    }

    private static func of(_ data: gpointer?) -> PromptWindow? {
        data.map { Unmanaged<PromptWindow>.fromOpaque($0).takeUnretainedValue() }
    }
}
