// SPDX-License-Identifier: Apache-2.0

/// A command of `hybrid-auth` that the app runs.
///
/// No command line contains a code, a PIN or a key: any program of this computer may read it.
package enum AuthCommand: Equatable, Sendable {
    /// Answers the code on the first line of standard input.
    case scanCode
    /// Answers the code of a link that was opened, on the first line of standard input.
    case scanLink
    /// Answers the code in a picture.
    case scanImage(path: String)
    /// Shows a code, and receives the passkeys that another device gives.
    case receive
    /// Gives a passkey to the device whose code is on the first line of standard input.
    case give(id: String)
    /// Lists and changes passkeys after one PIN.
    case session
    case listComputers
    case renameComputer(id: String, name: String)
    case unmuteComputer(id: String)
    case forgetComputer(id: String)
    case checkDevice
    case settings
    case setRelay(name: String)
    case setRelayLink(String)
    case vaultStatus
    case tpmStatus
    case fingerStatus
    case createVault
    case changePIN
    case replaceForgottenPIN
    case createRecoveryCode
    case useTPM(Bool)
    case useFingerprint(Bool)
    case backUp(path: String)
    case restore(path: String)
    case importPasskeys(path: String)
    case exportPasskeys(path: String)

    /// The arguments, without the program's name.
    package var arguments: [String] {
        switch self {
        case .scanCode: ["scan", "-", "--json"]
        case .scanLink: ["scan", "-", "--from-link", "--json"]
        case .scanImage(let path): ["scan", "--json", "--image=" + path]
        case .receive: ["receive", "--json"]
        case .give(let id): ["give", "--json", "--", id, "-"]
        case .session: ["passkeys", "session", "--json"]
        case .listComputers: ["links", "list", "--json"]
        // Names may begin with a hyphen.
        case .renameComputer(let id, let name): ["links", "rename", "--json", "--", id, name]
        case .unmuteComputer(let id): ["links", "unmute", "--json", "--", id]
        case .forgetComputer(let id): ["links", "forget", "--json", "--", id]
        case .checkDevice: ["doctor", "--json"]
        case .settings: ["check-config", "--json"]
        case .setRelay(let name): ["setup", "--json", "--tunnel-domain=" + name]
        case .setRelayLink: ["setup", "--json", "--link=-"]
        case .vaultStatus: ["vault", "status", "--json"]
        case .tpmStatus: ["vault", "tpm", "status", "--json"]
        case .fingerStatus: ["vault", "finger", "status", "--json"]
        case .createVault: ["vault", "init", "--json"]
        case .changePIN: ["vault", "change-pin", "--json"]
        case .replaceForgottenPIN: ["vault", "change-pin", "--forgotten", "--json"]
        case .createRecoveryCode: ["vault", "recovery-code", "--json"]
        case .useTPM(let isOn): ["vault", "tpm", isOn ? "enable" : "disable", "--json"]
        case .useFingerprint(let isOn): ["vault", "finger", isOn ? "enable" : "disable", "--json"]
        case .backUp(let path): ["vault", "backup", "--json", "--", path]
        case .restore(let path): ["vault", "restore", "--json", "--", path]
        case .importPasskeys(let path): ["import", "--json", "--", path]
        case .exportPasskeys(let path): ["export", "--json", "--", path]
        }
    }

    /// True if the helper reads its standard input.
    package var usesInput: Bool {
        switch self {
        case .scanCode, .scanLink, .give, .session, .setRelayLink: true
        default: false
        }
    }

    /// The first line of standard input, which is no argument because others can see those: a relay's link may contain a
    /// token.
    package var firstLine: String? {
        if case .setRelayLink(let link) = self { link } else { nil }
    }
}
