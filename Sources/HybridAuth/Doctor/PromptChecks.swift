// SPDX-License-Identifier: Apache-2.0

internal import HybridAsk
internal import HybridCommandSupport
internal import HybridDesktopPortal
internal import HybridDoctor
internal import HybridPinentry
internal import HybridPrimitives

/// The checks of what asks the user: a program, pinentry, and the desktop's notifications.
struct PromptChecks: Sendable {
    /// The pinentry program; `nil` for the default.
    let program: String?
    /// The program that asks in place of pinentry; `nil` if there is none.
    let askProgram: String?
    /// True if `listen` shows prompts, which has no terminal.
    let needsWindow: Bool
    let budget: TimeBudget

    /// Starts what asks the user, without a question; pinentry need not work if a program asks in its place.
    func run() async throws -> [DoctorFinding] {
        guard let askProgram else { return [try await pinentry(needsWindow: needsWindow)] }
        async let asking = asking(askProgram)
        async let pinentry = pinentry(needsWindow: false)
        let (first, second) = (try await asking, try await pinentry)
        return [first, first.state == .fine && second.state == .failed ? second.asWarning : second]
    }

    private func asking(_ path: String) async throws -> DoctorFinding {
        try await DoctorFinding.within(budget, .askProgram, orElse: .warning) {
            if let program = AskProgram(path), await program.isUsable {
                program.abort()
                return DoctorFinding(.askProgram, .fine, "\(path) starts, and asks in place of pinentry")
            }
            return DoctorFinding(
                .askProgram,
                .warning,
                "\(path) can't be used, so pinentry asks",
                remedy: "install it, or choose another with --ask"
            )
        }
    }

    private func pinentry(needsWindow: Bool) async throws -> DoctorFinding {
        try await DoctorFinding.within(budget, .pinentry, orElse: .failed) {
            do throws(PinentryError) {
                let pinentry = try Pinentry.forSignIn(program)
                let flavor = try await pinentry.flavor()
                let found = flavor.isEmpty ? "\(pinentry.program) starts" : "\(pinentry.program) starts (\(flavor))"
                guard needsWindow, ["curses", "tty"].contains(flavor) else {
                    return DoctorFinding(.pinentry, .fine, found)
                }
                return DoctorFinding(
                    .pinentry,
                    .warning,
                    "\(found), but needs a terminal, which the service for linked computers does not have",
                    remedy: "install pinentry-gnome3, pinentry-gtk2 or pinentry-qt"
                )
            } catch {
                return DoctorFinding(.pinentry, .failed, error)
            }
        }
    }

    /// Asks the notification server for its name; without one, pinentry asks about wake-ups.
    func notifications() async throws -> DoctorFinding {
        guard let address = SessionBus.address(ProcessEnvironment.variables) else {
            return Self.withoutServer("there is no session bus")
        }
        return try await DoctorFinding.within(budget, .notifications, orElse: .warning) {
            do throws(DesktopNotification.Failure) {
                let name = try await DesktopNotification.serverName(on: address)
                return DoctorFinding(.notifications, .fine, "\(SafeText(quoting: name)) shows them, with actions")
            } catch {
                guard case .unavailable(let cause) = error else { throw CancellationError() }
                return Self.withoutServer(cause)
            }
        }
    }

    private static func withoutServer(_ cause: String) -> DoctorFinding {
        DoctorFinding(
            .notifications,
            .warning,
            cause,
            remedy: "pinentry asks about linked computers instead; install a notification server, such as "
                + "notification-daemon"
        )
    }
}

extension DoctorFinding {
    /// The finding as one that prevents no ceremony.
    fileprivate var asWarning: DoctorFinding {
        var finding = self
        finding.state = .warning
        return finding
    }
}
