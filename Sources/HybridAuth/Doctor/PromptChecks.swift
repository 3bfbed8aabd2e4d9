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

    /// Starts the program that asks in place of pinentry, without a question; `nil` if none is used.
    func asking() async throws -> DoctorFinding? {
        guard let askProgram else { return nil }
        return try await DoctorFinding.within(budget, .askProgram, orElse: .warning) {
            if let program = AskProgram(askProgram), await program.isUsable {
                program.abort()
                return DoctorFinding(.askProgram, .fine, "\(askProgram) starts, and asks in place of pinentry")
            }
            return DoctorFinding(
                .askProgram,
                .warning,
                "\(askProgram) can't be used, so pinentry asks",
                remedy: "install it, or choose another with --ask"
            )
        }
    }

    /// Starts the prompt program, without a prompt.
    func pinentry() async throws -> DoctorFinding {
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
