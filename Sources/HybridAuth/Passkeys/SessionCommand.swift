// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// A command of `passkeys session`, read from a line.
struct SessionCommand: Equatable {
    /// An action, with the passkey as the program names it.
    enum Action: Equatable {
        case list(withHidden: Bool)
        case show(String)
        case history(last: Int?)
        case rename(String, name: String, displayName: String?)
        case manage(String)
        case delete(String)
    }

    /// A line that is no command.
    struct Malformed: Error, Equatable {
        /// The number of the command, if it has one.
        let number: UInt32?
        /// A clause that says what is wrong.
        let reason: String
    }

    /// The number, which the result repeats.
    let number: UInt32
    /// The action.
    let action: Action

    /// Maximum number of values in a command.
    private static let maximumValues = 32

    /// Creates a command from a line without its line feed.
    init(_ line: [UInt8]) throws(Malformed) {
        let text: JSONText
        do throws(JSONSyntaxError) {
            text = try JSONText(parsing: line, maximumValues: Self.maximumValues)
        } catch {
            throw Malformed(number: nil, reason: error.reason)
        }
        var known: UInt32?
        let found: Action?
        do throws(JSONMemberError) {
            let command = JSONCursor(text, named: "the command")
            number = try command.member("n").integer(UInt32.self)
            known = number
            found = try Self.action(try command.member("do").text, command)
        } catch {
            throw Malformed(number: known, reason: error.reason)
        }
        guard let found else {
            let reason = "the command is none of list, show, history, rename, manage and delete"
            throw Malformed(number: number, reason: reason)
        }
        action = found
    }

    private static func action(_ name: String, _ command: JSONCursor) throws(JSONMemberError) -> Action? {
        switch name {
        case "list": return .list(withHidden: command.value.member("hidden")?.boolean == true)
        case "show": return .show(try command.member("passkey").text)
        case "history":
            let last = try command.memberIfPresent("last")?.integer(UInt32.self)
            return .history(last: last.map { Int($0) })
        case "rename":
            let newName = try command.member("name").text
            let displayName = try command.memberIfPresent("displayName")?.text
            return .rename(try command.member("passkey").text, name: newName, displayName: displayName)
        case "manage": return .manage(try command.member("passkey").text)
        case "delete": return .delete(try command.member("passkey").text)
        default: return nil
        }
    }
}
