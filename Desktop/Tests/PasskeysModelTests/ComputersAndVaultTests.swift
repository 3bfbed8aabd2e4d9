// SPDX-License-Identifier: Apache-2.0

import HybridPasskeysModel
import Testing

@Suite("Linked computers")
struct ListedComputerTests {
    private func listed(_ rows: String...) -> [ListedComputer]? {
        [ListedComputer](linksOutput: line(#"{"links":[\#(rows.joined(separator: ","))]}"#))
    }

    private func row(_ id: String, _ name: String, _ state: String, _ lastUsed: String = "null") -> String {
        #"{"id":"\#(id)","name":"\#(name)","state":"\#(state)","relay":"cable.example","wakeUp":"push","#
            + #""created":1700000000,"lastUsed":\#(lastUsed)}"#
    }

    @Test("are sorted by name, with their states in words")
    func list() throws {
        let computers = try #require(
            listed(
                row("aaaa", "studio", "muted"),
                row("bbbb", "Laptop", "active", "1795940000"),
                row("cccc", "desk", "to-be-revoked"),
                row("dddd", "old", "revoked"),
                row("eeee", "tv", "unreachable")
            )
        )
        #expect(computers.map(\.title) == ["desk", "Laptop", "studio", "tv"])
        #expect(computers[1].summary(clock) == "Used today")
        #expect(computers[2].canBeUnmuted && computers[2].summary(clock).hasPrefix("Muted"))
        #expect(!computers[0].canBeChanged && computers[3].canBeChanged && !computers[3].canBeUnmuted)
        #expect(computers[1].facts(clock).map(\.value) == ["14 Nov 2023", "today, 09:13", "cable.example"])
    }

    @Test("have safe names and IDs")
    func hostile() throws {
        let computers = try #require(
            listed(row("--all", "x", "active"), row("aaaa", #"\u202e<b>"#, "active"), row("bbbb", "", "active"))
        )
        #expect(computers.map(\.title) == ["b", "Unnamed computer"])
    }

    @Test("are not read from anything else", arguments: ["", "[]", "{}", #"{"links":{}}"#, #"{"links":[]"#])
    func malformed(text: String) { #expect([ListedComputer](linksOutput: line(text)) == nil) }

    @Test("may be none")
    func none() { #expect(listed()?.isEmpty == true) }
}

@Suite("The vault")
struct VaultOverviewTests {
    private let status = """
        {"path":"/v","id":"ab","test":false,"key":null,"records":3,"passphrases":0,"recoveryCodes":1,"opensElsewhere":true,\
        "pin":true,"tpm":true,"wrongPINs":0,"waitSeconds":0,"lastBackup":1795864000,"rekeying":false}
        """

    @Test("has facts that need no PIN")
    func overview() throws {
        let vault = try #require(VaultOverview(statusOutput: line(status)))
        #expect(vault.opensElsewhere && vault.hasPIN && vault.isTPMUsed && !vault.isTest && vault.records == 3)
        #expect(vault.backupText(clock) == "Last backup yesterday")
        #expect(vault.recoveryText == "1 recovery code exists")
        let risky = status.replacing(#""opensElsewhere":true"#, with: #""opensElsewhere":false"#)
            .replacing("1795864000", with: "null")
        let other = try #require(VaultOverview(statusOutput: line(risky)))
        #expect(other.backupText(clock) == "No backup from this device yet")
        #expect(other.recoveryText == "Without one, the vault is lost with this device")
        #expect(VaultOverview(statusOutput: line("{}")) == nil && VaultOverview(statusOutput: []) == nil)
    }

    @Test("names what the vault lacks, and first what prevents a sign-in")
    func advice() throws {
        let unsafe = status.replacing(#""opensElsewhere":true"#, with: #""opensElsewhere":false"#)
        func advice(_ status: String) -> VaultOverview.Advice? { VaultOverview(statusOutput: line(status))?.advice }
        #expect(advice(status) == nil && advice(unsafe) == .makeRecoveryCode)
        #expect(advice(unsafe.replacing(#""pin":true"#, with: #""pin":false"#)) == .choosePIN)
    }

    @Test("has a switch for the TPM")
    func tpm() throws {
        let tpm = #"{"manufacturer":"IBM","wrong":0,"maximum":3,"lockedOut":false,"waitMinutes":0}"#
        let on = try #require(ProtectionSwitch(tpmOutput: line(#"{"protection":"tpm","tpm":\#(tpm),"error":null}"#)))
        #expect(on.isOn && on.isAvailable)
        let off = try #require(ProtectionSwitch(tpmOutput: line(#"{"protection":"device-secret","tpm":\#(tpm)}"#)))
        #expect(!off.isOn && off.isAvailable)
        let none = try #require(
            ProtectionSwitch(
                tpmOutput: line(#"{"protection":"device-secret","tpm":null,"error":{"code":"tpm-absent"}}"#)
            )
        )
        #expect(!none.isOn && !none.isAvailable)
        let out = tpm.replacing(#""lockedOut":false,"waitMinutes":0"#, with: #""lockedOut":true,"waitMinutes":10"#)
        let locked = try #require(ProtectionSwitch(tpmOutput: line(#"{"protection":"tpm","tpm":\#(out)}"#)))
        #expect(locked.text == "Refuses PINs for 10 minutes")
        #expect(ProtectionSwitch(tpmOutput: line("{}")) == nil)
    }

    @Test("has a switch for fingerprints")
    func finger() throws {
        func status(_ enabled: Bool, _ agent: Bool, _ sensor: String, _ fingers: String) -> ProtectionSwitch? {
            ProtectionSwitch(
                fingerOutput: line(
                    #"{"enabled":\#(enabled),"agent":\#(agent),"sensor":\#(sensor),"fingers":[\#(fingers)],"problem":null}"#
                )
            )
        }
        #expect(status(false, true, #""s""#, #""left""#)?.isAvailable == true)
        #expect(status(false, true, #""s""#, "")?.isAvailable == false)
        #expect(status(false, false, #""s""#, #""left""#)?.isAvailable == false)
        #expect(status(false, true, "null", "")?.text == "There is no fingerprint sensor")
        // A feature that is on can be turned off.
        #expect(status(true, false, "null", "")?.isAvailable == true)
        #expect(ProtectionSwitch(fingerOutput: line("{}")) == nil)
    }
}

@Suite("Command lines")
struct AuthCommandTests {
    @Test("never contain a code, and keep names from being options")
    func arguments() {
        #expect(AuthCommand.scanCode.arguments == ["scan", "-", "--json"] && AuthCommand.scanCode.usesInput)
        #expect(AuthCommand.scanLink.arguments == ["scan", "-", "--from-link", "--json"])
        #expect(AuthCommand.session.arguments == ["passkeys", "session", "--json"] && AuthCommand.session.usesInput)
        #expect(
            AuthCommand.renameComputer(id: "aaaa", name: "--all").arguments
                == ["links", "rename", "--json", "--", "aaaa", "--all"]
        )
        #expect(AuthCommand.scanImage(path: "-x").arguments == ["scan", "--json", "--image=-x"])
        for command in [
            AuthCommand.backUp(path: "--yes"), .restore(path: "--yes"), .importPasskeys(path: "--yes"),
            .exportPasskeys(path: "--yes"),
        ] { #expect(command.arguments.suffix(2) == ["--", "--yes"] && !command.usesInput) }
        #expect(AuthCommand.useTPM(false).arguments == ["vault", "tpm", "disable", "--json"])
        #expect(AuthCommand.useFingerprint(true).arguments == ["vault", "finger", "enable", "--json"])
        #expect(AuthCommand.setRelay(name: "4711").arguments == ["setup", "--json", "--tunnel-domain=4711"])
    }

    private static let none = "There is no passkey in this file that can be kept here"
    private static let keep = "Not everything in the file: keep it."
    private static let readable = "Other users can read the file: move it to another drive."

    @Test(
        "An import that left something out, or added nothing, does not sound like a whole one",
        arguments: [
            (#"{"complete":true,"added":2,"present":[],"different":[]}"#, "2 passkeys imported"),
            (#"{"complete":false,"added":1,"present":[],"different":[{}]}"#, "1 passkey imported. \(keep)"),
            (#"{"sites":[],"otherTypes":[],"leftOut":[],"incomplete":[]}"#, none), ("", none),
        ]
    )
    func imports(output: String, text: String) {
        #expect(PasskeyFileResult(importOutput: line(output)).text == text)
    }

    @Test("A backup has digits to write down, unless the helper names none")
    func backup() {
        let key = "12345 00042 99999 31415 27182 16180"
        let shown = PasskeyFileResult(backupOutput: line(#"{"file":"f","key":"\#(key)"}"#)).text
        #expect(shown == "Write down these digits, which restoring the backup shows: \(key)")
        #expect(PasskeyFileResult(backupOutput: line("{}")).text.isEmpty)
    }

    @Test(
        "An export says what it left out, and who can read it",
        arguments: [
            (#"{"file":"f","written":2,"leftOut":0,"private":true}"#, "2 passkeys exported"),
            (#"{"file":null,"written":0}"#, "There is no passkey to export"),
            (
                #"{"file":"f","written":1,"leftOut":3,"private":false}"#,
                "1 passkey exported. 3 were left out. \(readable)"
            ),
        ]
    )
    func exports(output: String, text: String) {
        #expect(PasskeyFileResult(exportOutput: line(output)).text == text)
    }
}
