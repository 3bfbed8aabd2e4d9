// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import HybridDBus
import HybridPhoneLinks
import HybridSession
import HybridVirtualBlueZ
import TestSupport
import Testing

/// `hybrid-auth doctor` with a working setup, and with one fault at a time.
@Suite("The doctor of hybrid-auth", .keepsEvidence, .serialized)
struct AuthDoctorTests {
    private static let user = TestUser()

    /// Runs the doctor with and without --json, and expects the same findings.
    private static func examine(
        _ environment: CeremonyEnvironment,
        _ arguments: [String] = [],
        variables: [String: String] = [:]
    ) async throws -> DoctorTests.Report {
        let flags =
            environment.network + [
                "--tunnel-domain", "\(CeremonyEnvironment.domain)", "--vault", environment.vault, "--pinentry",
                TestUser.program(in: environment.folder), "--timeout", "60",
            ]
        // No session bus, unless a test names one.
        let session = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=\(environment.folder)/none"]
        return try await DoctorTests.examine(
            environment,
            flags + arguments,
            program: "hybrid-auth",
            variables: user.variables(in: environment.folder).merging(session) { $1 }.merging(variables) { $1 }
        ).report
    }

    /// Creates a test vault with a PIN, or a real one.
    private static func createVault(_ environment: CeremonyEnvironment, isTest: Bool = true) async throws {
        let ending = try await environment.start(
            "hybrid-auth",
            ["vault", "init", "--vault", environment.vault, "--pinentry", TestUser.program(in: environment.folder)],
            variables: user.variables(in: environment.folder)
                .merging(isTest ? [:] : ["DBUS_SYSTEM_BUS_ADDRESS": ""]) { $1 }
        ).ending()
        ending.expect(0, errors: "created")
    }

    @Test("starts the program that asks, and warns if pinentry asks in its place")
    func askProgram() async throws {
        try await CeremonyEnvironment.run { environment in
            let user = try AskedUser(in: environment.folder, "ready", "{}")
            let fine = try await Self.examine(environment, user.flags, variables: user.variables)
            #expect(fine["ask-program"]?.state == "ok")
            #expect(try user.lines().allSatisfy { $0["ask"] == nil }, "nothing is asked")
            let alone = ["--pinentry", "/nonexistent/pinentry"]
            let without = try await Self.examine(environment, user.flags + alone, variables: user.variables)
            #expect(without["pinentry"]?.state == "warning" && without.couldWork)
            let neither = try await Self.examine(environment, ["--ask", "/nonexistent/ask"] + alone)
            #expect(neither["pinentry"]?.state == "failed" && !neither.couldWork)
            let missing = try await Self.examine(environment, ["--ask", "/nonexistent/ask"])
            #expect(missing["ask-program"]?.state == "warning" && missing.couldWork)
            #expect(try await Self.examine(environment, ["--ask", ""])["ask-program"] == nil)
        }
    }

    @Test("reports no failure with a virtual radio, a relay and a vault")
    func healthy() async throws {
        try await CeremonyEnvironment.run { environment in
            let before = try await Self.examine(environment)
            #expect(before.couldWork && before.virtualRadio)
            #expect(before["vault"]?.found == "there is none at \(environment.vault); the first scan creates it")
            #expect(!FileManager.default.fileExists(atPath: environment.folder + "/state"), "nothing is changed")

            try await Self.createVault(environment)
            let files = environment.vaultContents()
            let report = try await Self.examine(environment)
            #expect(report.couldWork)
            #expect(
                report.checks.map(\.check) == [
                    "system-bus", "bluetooth-service", "adapter", "advertising", "own-advert", "proxy", "relay",
                    "clock", "camera", "pinentry", "vault", "vault-permissions", "vault-pin", "vault-slots",
                    "sync-conflicts",
                    "tpm", "tpm-lockout", "fingerprint", "fingerprint-service", "linked-computers",
                    "link-service", "push-service", "push-subscription", "notifications",
                ]
            )
            #expect(report["advertising"]?.found == "hci0 may advertise")
            #expect(report["own-advert"]?.found.hasPrefix("hci1 received the advert of hci0 after ") == true)
            #expect(report["pinentry"]?.found == "\(TestUser.program(in: environment.folder)) starts")
            #expect(report["vault"]?.found == "\(environment.vault) is a test vault with 0 records")
            #expect(report["vault-pin"]?.found == "is set on this device")
            #expect(report["vault-slots"]?.state == "warning" && report["sync-conflicts"]?.found == "there are none")
            #expect(report["linked-computers"]?.found == "there are none" && report["link-service"]?.state == "skipped")
            #expect(report["notifications"]?.found == "there is no session bus")
            #expect(environment.vaultContents() == files, "nothing is changed")
            let log = TestFile.text(TestUser.log(in: environment.folder))
            #expect(log.contains("GETINFO flavor"))
            #expect(log.components(separatedBy: "GETPIN").count - 1 == 2, "only vault init asks")
            try await environment.untilNoAdverts()
        }
    }

    @Test("reports adapters that do not advertise, and relays that are missing or without a token")
    func radioAndRelay() async throws {
        try await CeremonyEnvironment.run { environment in
            for adapter in ["hci0", "hci1"] { try await environment.air.setSlots(adapter, 0) }
            let full = try await Self.examine(environment)
            #expect(full.code == 69 && full["advertising"]?.state == "failed", "\(full.checks)")
            #expect(full["own-advert"]?.state == "skipped")
            try await environment.air.setSlots("hci1", 1)
            let second = try await Self.examine(environment)
            #expect(second.couldWork && second["adapter"]?.found.hasPrefix("hci1 is on") == true)

            let closed = connectTo(CeremonyEnvironment.host, 1)
            let unreachable = try await Self.examine(environment, ["--tunnel-domain", "267"] + closed)
            #expect(unreachable.code == 69 && unreachable["relay"]?.state == "failed")
            let tokenless = try await Self.examine(environment, ["--tunnel-token-file", "\(environment.folder)/none"])
            #expect(tokenless.code == 66 && tokenless["relay-token"]?.state == "failed", "\(tokenless.checks)")
            let noProgram = try await Self.examine(environment, ["--pinentry", "\(environment.folder)/none"])
            #expect(noProgram.code == 69 && noProgram["pinentry"]?.found.contains("there is no pinentry") == true)
            try TestFile.write("#!/bin/sh\nexec sleep 300\n", to: environment.folder + "/silent")
            chmod(environment.folder + "/silent", 0o700)
            let silent = ["--pinentry", "\(environment.folder)/silent", "--timeout", "9"]
            let stuck = try await Self.examine(environment, silent)
            #expect(stuck.code == 75 && stuck["pinentry"]?.found == "did not finish within 9 s", "\(stuck.checks)")
        }
        try await CeremonyEnvironment.run { environment in
            let ending = try await environment.start("hybrid-auth", ["doctor"] + environment.trust).ending()
            #expect(ending.status == 64 && ending.lastLine.contains("no relay is chosen; run hybrid-auth setup"))
        }
    }

    @Test("reports what keeps the vault from opening, and files that it did not write")
    func vault() async throws {
        try await CeremonyEnvironment.run { environment in
            try await Self.createVault(environment)
            let records = environment.vault + "/records/00112233445566778899aabbccddeeff"
            try FileManager.default.createDirectory(atPath: records, withIntermediateDirectories: true)
            try TestFile.write("", to: records + "/1-0011223344556677 (conflict)")
            let copies = try await Self.examine(environment)
            #expect(copies["sync-conflicts"]?.state == "ok", "a copy is read like the original")
            #expect(
                copies["sync-conflicts"]?.found.hasPrefix("copies that are read, too: 1, for example records/0011")
                    == true
            )
            try TestFile.write("", to: environment.vault + "/vault.json (conflict)")
            let foreign = try await Self.examine(environment)
            #expect(foreign.couldWork && foreign["sync-conflicts"]?.state == "warning")
            let named = foreign["sync-conflicts"]?.found.contains("ignored files: 1, for example vault.json (conflict)")
            #expect(named == true)

            chmod(environment.vault, 0o750)
            let open = try await Self.examine(environment)
            #expect(open.code == 77 && open["vault-permissions"]?.remedy == "run: chmod 700 \(environment.vault)")
            #expect(open["vault"]?.state == "skipped")
            chmod(environment.vault, 0o700)

            let elsewhere = ["XDG_STATE_HOME": environment.folder + "/other"]
            try FileManager.default.createDirectory(
                atPath: environment.folder + "/other/hybrid",
                withIntermediateDirectories: true
            )
            let noPIN = try await Self.examine(environment, variables: elsewhere)
            #expect(noPIN.code == 77 && noPIN["vault-pin"]?.state == "failed", "\(noPIN.checks)")
            try FileManager.default.removeItem(atPath: environment.vault)
            let gone = try await Self.examine(environment)
            #expect(gone.code == 66 && gone["vault"]?.found.contains("is gone") == true)
        }
        try await CeremonyEnvironment.run { environment in
            try await Self.createVault(environment, isTest: false)
            let real = try await Self.examine(environment)
            #expect(real.code == 77 && real["vault"]?.found.contains("real passkeys") == true, "\(real.checks)")
        }
    }

    @Test("reports a TPM that accepts no PIN for now")
    func lockout() async throws {
        try await CeremonyEnvironment.run { environment in
            let tpm = try await SoftwareTPM(in: environment.folder + "/tpm", failures: 8)
            let variables = ["HYBRID_TPM": tpm.configuration]
            let before = try await Self.examine(environment, variables: variables)
            #expect(before["tpm"]?.state == "ok", "\(before.checks)")
            #expect(before["tpm-lockout"]?.found.hasPrefix("0 of 8 wrong attempts") == true, "\(before.checks)")
            // One wrong value would cause the lockout, so no PIN is tried.
            try await tpm.run("tpm2_dictionarylockout", "--setup-parameters", "--max-tries", "1")
            let after = try await Self.examine(environment, variables: variables)
            #expect(after["tpm-lockout"]?.state == "warning", "\(after.checks)")
            #expect(after["tpm-lockout"]?.found.contains("accepts no PIN for") == true, "\(after.checks)")
            #expect(after.couldWork, "the vault does not use the TPM")
            try await tpm.stop()
        }
    }

    @Test("reports the push service, and the subscription for the next link")
    func push() async throws {
        try await CeremonyEnvironment.run { environment in
            try await PrivateBus.run { bus in
                typealias Check = DoctorTests.Report.Check
                func examine(push: String) async throws -> (service: Check, next: Check) {
                    let variables = ["DBUS_SESSION_BUS_ADDRESS": bus.address, "HYBRID_PUSH": push]
                    let report = try await Self.examine(environment, variables: variables)
                    #expect(report.couldWork)
                    return (try #require(report["push-service"]), try #require(report["push-subscription"]))
                }
                let off = try await examine(push: "no")
                #expect(off.service.state == "skipped" && off.next.state == "skipped")
                let none = try await examine(push: "yes")
                #expect(none.service.state == "warning" && none.service.found.hasPrefix("no push service"))
                #expect(none.next.found == "there is none, so the next link would need a connection")
                let distributor = try await BusConnection.connect(to: bus.busAddress)
                _ = try await distributor.requestName("org.unifiedpush.Distributor.Test")
                let one = try await examine(push: "yes")
                #expect(one.service.found == "org.unifiedpush.Distributor.Test is on the session bus")
                _ = try await distributor.requestName("org.unifiedpush.Distributor.Other")
                let two = try await examine(push: "yes")
                #expect(two.service.state == "warning" && two.service.remedy?.contains("Other, Test") == true)
                await distributor.close()
            }
        }
    }

    @Test("reports linked computers, their service, and the notification server")
    func links() async throws {
        try await CeremonyEnvironment.run { environment in
            let store = try PhoneLinkStore(path: environment.folder + "/state/hybrid/phone")
            let link = PhoneLink(at: try #require(TunnelDomain(id: UInt16(CeremonyEnvironment.domain))))
            try store.add(try #require(StoredPhoneLink(link, label: "laptop", created: 1_700_000_000)))
            try TestFile.write("damaged", to: store.path + "/0000000000000000.cbor")
            try await PrivateBus.run { bus in
                let variables = ["DBUS_SESSION_BUS_ADDRESS": bus.address]
                let bare = try await Self.examine(environment, variables: variables)
                #expect(bare.couldWork && bare["notifications"]?.state == "warning")
                #expect(bare["link-service"]?.found == "not checked: systemd does not manage this session")
                let damaged = bare.checks.filter { $0.check == "linked-computers" && $0.state == "warning" }
                #expect(damaged.count == 1 && bare["linked-computers"]?.found == "\"laptop\"")

                let sentence = "the connection is cut repeatedly"
                for (state, status) in [("active", ""), ("active", sentence), ("inactive", ""), ("failed", "")] {
                    let desktop = try await StandInSession.connect(to: bus, serviceState: state, status)
                    let report = try await Self.examine(environment, variables: variables)
                    #expect(report["notifications"]?.found == "\"stand-in\" shows them, with actions")
                    let service = try #require(report["link-service"])
                    #expect(service.found.hasPrefix("hybrid-auth-listen is \(state)"), "\(service)")
                    #expect(service.state == (state == "active" && status.isEmpty ? "ok" : "warning"), "\(service)")
                    #expect(status.isEmpty || service.found.hasSuffix(status), "\(service)")
                    await desktop.close()
                }
            }
        }
    }
}

/// A notification server and the user's systemd, as far as the doctor asks them.
private enum StandInSession {
    static let notifications = "org.freedesktop.Notifications"
    static let systemd = "org.freedesktop.systemd1"

    static func connect(to bus: PrivateBus, serviceState: String, _ status: String) async throws -> BusConnection {
        let connection = try await BusConnection.connect(to: bus.busAddress) { message in
            switch message.member {
            case "GetCapabilities": .values([.strings(["body", "actions"])])
            case "GetServerInformation":
                .values([.string("stand-in"), .string("tests"), .string("1"), .string("1.3")])
            case "LoadUnit" where message.body == [.string("hybrid-auth-listen.service")]:
                .values([.objectPath("/unit")])
            case "Get" where message.path == "/unit":
                .values([.variant(.string(message.body.last == .string("StatusText") ? status : serviceState))])
            default: .unknownMethod
            }
        }
        for name in [notifications, systemd] { _ = try await connection.requestName(name) }
        return connection
    }
}
