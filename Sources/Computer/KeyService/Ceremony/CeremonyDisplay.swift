// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport

/// The place where the code and the progress of a ceremony are shown.
package enum CeremonyDisplay: Hashable, Sendable {
    /// A prompt program: it reads the progress as JSON and answers with lines, of which `cancel` ends the ceremony.
    case prompt(path: String)
    /// A page in the user's browser.
    case page
    /// The terminal.
    case terminal
    /// The caller, which receives the progress as JSON.
    case caller

    /// The value of the option `--display` of the process that performs the ceremony.
    package var option: String {
        switch self {
        case .prompt, .caller: "json"
        case .page: "page"
        case .terminal: "terminal"
        }
    }

    /// Returns the display for a program without a terminal: the prompt if it is installed, else the page.
    ///
    /// - Parameters:
    ///   - prompt: The path of the prompt program from the settings; `nil` for `hybrid-prompt` on the search path.
    ///   - searchPath: The value of `PATH`.
    package static func graphical(prompt: String?, searchPath: String?) -> CeremonyDisplay {
        if let prompt { return .prompt(path: prompt) }
        for folder in (searchPath ?? "").split(separator: ":") where folder.hasPrefix("/") {
            let path = "\(folder)/hybrid-prompt"
            if access(path, X_OK) == 0 { return .prompt(path: path) }
        }
        return .page
    }
}
