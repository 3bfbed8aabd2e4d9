// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridKeyService
internal import HybridLocalPage
internal import HybridPrimitives
internal import HybridProgram
internal import HybridThreads

extension CeremonyDisplay {
    /// Returns the reason why no code can be shown here, with a remedy; `nil` if none is known before a ceremony.
    ///
    /// - Parameter environment: The environment of the program that starts prompt or browser.
    func problem(in environment: [String: String]) -> String? {
        func isSet(_ variable: String) -> Bool { environment[variable]?.isEmpty == false }
        let hasDisplay = isSet("DISPLAY") || isSet("WAYLAND_DISPLAY")
        switch self {
        case .terminal, .caller: return nil
        case .prompt(let path):
            if path.contains("/"), access(path, X_OK) != 0 {
                let error = ChildProcess.SpawnError(code: errno)
                return "\(SafeText(quoting: path)) can't be run: \(error.reason); \(error.promptRemedy)"
            }
            // Other programs may need none.
            guard path.hasSuffix("/hybrid-prompt"), !hasDisplay else { return nil }
            return "hybrid-prompt has no display; set DISPLAY or WAYLAND_DISPLAY, or use hybrid-key agent --tty"
        case .page:
            let browser = BrowserProgram(variable: environment["BROWSER"])
            // xdg-open needs a display.
            let isUsable = hasDisplay || isSet("BROWSER")
            guard !isUsable || !browser.isInstalled(searchPath: environment["PATH"]) else { return nil }
            return "there is no prompt program and no browser, so no code can be shown; install hybrid-prompt, set "
                + "HYBRID_PROMPT or BROWSER, or use hybrid-key agent --tty"
        }
    }
}
