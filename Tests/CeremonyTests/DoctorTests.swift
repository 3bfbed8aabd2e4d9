// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridSystemBus
import HybridVirtualBlueZ
import TestSupport
import Testing

/// `hybrid-client doctor` where all is well and where one thing is not.
@Suite("The doctor", .keepsEvidence, .serialized)
struct DoctorTests {
    /// What the doctor printed with --json.
    struct Report: Decodable {
        struct Check: Decodable {
            let check: String
            let subject: String?
            let state: String
            let found: String
            let remedy: String?
            let issuer: String?
            let intercepted: Bool?
        }

        let couldWork: Bool
        let code: Int32
        let virtualRadio: Bool
        let checks: [Check]

        subscript(check: String) -> Check? { checks.first { $0.check == check || $0.subject == check } }
    }

    static let vendors = ["cable.ua5v.com", "cable.auth.com"]

    /// Runs the doctor twice, for a person and for a script, who are told the same.
    private static func examine(
        _ stage: Stage,
        _ arguments: [String],
        variables: [String: String] = [:],
        before: (@Sendable () async throws -> Void)? = nil
    ) async throws -> (report: Report, spoken: RunningProgram.Ending) {
        func run(_ extra: [String]) async throws -> RunningProgram.Ending {
            try await before?()
            return try await RunningProgram(
                "hybrid-client",
                ["doctor"] + arguments + extra,
                in: stage.folder,
                environment: stage.environment(variables)
            ).ending()
        }
        let (spoken, written) = (try await run([]), try await run(["--json"]))
        #expect(spoken.status == written.status, "\(spoken)\n\(written)")
        let report = try JSONDecoder().decode(Report.self, from: Data(written.output.utf8))
        #expect(report.code == written.status && report.couldWork == (written.status == 0), "\(written)")
        let lines = written.errors.split(separator: "\n")
        for line in lines { #expect(line.hasPrefix("{") && line.hasSuffix("}"), "NDJSON: \(line)") }
        #expect(lines.filter { $0.contains(#""event":"check""#) }.count == report.checks.count)
        #expect((lines.last?.contains(#""event":"error""#) ?? false) == (written.status != 0))
        // Times differ from run to run.
        func timeless(_ text: String) -> String { text.filter { !$0.isNumber } }
        for check in report.checks {
            #expect(timeless(spoken.output).contains(timeless(check.found)), "\(check)\n\(spoken)")
        }
        if spoken.status != 0 {
            #expect(spoken.lastLine.hasPrefix("hybrid-client: "), "\(spoken)")
            let obstacle = report.checks.first { $0.state == "failed" }
            #expect(spoken.lastLine.contains(obstacle?.found ?? "?"), "\(spoken)")
        }
        return (report, spoken)
    }

    /// Flags with which the stage's own relay is reached and the vendors' are not.
    private static func flags(_ stage: Stage) -> [String] {
        stage.network + vendors.flatMap { Stage.detour($0, 1) } + ["--relay", "\(Stage.domain)", "--timeout", "60"]
    }

    /// The same where nothing is to be heard, which is waited out.
    private static func unheard(_ stage: Stage) -> [String] { flags(stage) + ["--timeout", "15"] }

    @Test("finds nothing wrong with a virtual radio and a relay")
    func healthy() async throws {
        try await Stage.set { stage in
            let (report, _) = try await Self.examine(stage, Self.flags(stage))
            #expect(report.couldWork && report.virtualRadio)
            #expect(
                report.checks.map(\.check) == [
                    "system-bus", "bluetooth-service", "adapter", "scanning", "hearing", "own-advert", "proxy", "relay",
                    "relay", "relay", "clock",
                ]
            )
            let unwell = report.checks.filter { $0.state != "ok" }.compactMap(\.subject)
            #expect(unwell == Self.vendors, "another relay is chosen, so theirs do not count")
            #expect(report["system-bus"]?.found.contains("VIRTUAL RADIO") == true)
            #expect(report["bluetooth-service"]?.found == "bluetoothd 5.82")
            #expect(report["adapter"]?.found == "hci0 is on; also on: hci1")
            #expect(report[Stage.host]?.issuer == "test authority")
            try await stage.expectSilence()
        }
    }

    @Test("needs no second adapter, and none that sends while it listens")
    func oneAdapter() async throws {
        try await Stage.set(AirSettings(adapters: 1)) { stage in
            let (quiet, _) = try await Self.examine(stage, Self.unheard(stage))
            #expect(quiet.couldWork)
            #expect(quiet["own-advert"]?.state == "skipped" && quiet["hearing"]?.state == "warning")
            let stranger = try await stage.air.inject(properties: ["Address": .string("00:11:22:33:44:55")])
            let (busy, _) = try await Self.examine(stage, Self.flags(stage))
            #expect(busy["hearing"]?.state == "ok")
            try await stage.air.remove(stranger)
        }
        try await Stage.set { stage in
            for adapter in ["hci0", "hci1"] { try await stage.air.setSlots(adapter, 0) }
            let (full, _) = try await Self.examine(stage, Self.unheard(stage))
            #expect(full.couldWork && full["own-advert"]?.state == "skipped")
        }
    }

    @Test("names what is missing from Bluetooth, and prevents")
    func radio() async throws {
        try await Stage.set { stage in
            let flags = Self.flags(stage)
            let noBus = ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(stage.folder)/none"]
            let (busless, _) = try await Self.examine(stage, flags, variables: noBus)
            #expect(busless.code == 69 && busless["system-bus"]?.state == "failed")
            #expect(busless["system-bus"]?.remedy?.contains("systemctl start dbus") == true)
            #expect(busless[Stage.host]?.state == "ok", "the network is looked at all the same")

            for adapter in ["hci0", "hci1"] { try await stage.air.setPowered(adapter, false) }
            let (off, _) = try await Self.examine(stage, flags)
            #expect(off.code == 69 && off["adapter"]?.found == "Bluetooth is off (hci0)")
            #expect(off["adapter"]?.remedy?.contains("bluetoothctl power on") == true)

            for adapter in ["hci0", "hci1"] { try await stage.air.setBlocked(adapter, true) }
            let (blocked, _) = try await Self.examine(stage, flags)
            #expect(blocked.code == 69 && blocked["adapter"]?.found == "hci0 is blocked (rfkill)")
            #expect(blocked["adapter"]?.remedy?.contains("rfkill unblock bluetooth") == true)
            #expect(blocked["scanning"]?.state == "skipped")

            try await stage.air.setPowered("hci1", true)
            let (second, _) = try await Self.examine(stage, Self.unheard(stage))
            #expect(second.couldWork && second["adapter"]?.found == "hci1 is on", "the one that is on is used")
            let (named, _) = try await Self.examine(stage, flags + ["--adapter", "hci0"])
            #expect(named.code == 69, "unless another was named")
            let (unknown, _) = try await Self.examine(stage, flags + ["--adapter", "hci7"])
            #expect(unknown["adapter"]?.found == "there is no Bluetooth adapter hci7")

            let (forbidden, _) = try await Self.examine(stage, flags) {
                try await stage.air.failNext(
                    "StartDiscovery",
                    name: "org.freedesktop.DBus.Error.AccessDenied",
                    message: "rejected by policy"
                )
            }
            #expect(forbidden.code == 69 && forbidden["scanning"]?.state == "failed")
            #expect(forbidden["scanning"]?.found.contains("may not use Bluetooth") == true)

            try await stage.air.vanish()
            let (serviceless, _) = try await Self.examine(stage, flags)
            #expect(serviceless.code == 69 && serviceless["bluetooth-service"]?.state == "failed")
            try await stage.air.comeBack()
        }
    }

    @Test("names what is wrong with relays, and who opens TLS")
    func relays() async throws {
        try await Stage.set { stage in
            let trust = ["--cacert", "\(stage.folder)/ca.pem", "--timeout", "60"]
            let foreign = try await stage.webServer(for: Stage.host, issuedBy: "Foreign CA")
            let (relay, _) = try await Self.examine(
                stage,
                trust + Stage.detour(Stage.host, foreign.port) + Self.vendors.flatMap { Stage.detour($0, 1) }
                    + ["--relay", Stage.host]
            )
            #expect(relay.code == 69 && relay[Stage.host]?.state == "failed")
            #expect(relay[Stage.host]?.issuer == "Foreign CA, Corporation")
            #expect(relay[Stage.host]?.found.contains("issued by \"Foreign CA, Corporation\"") == true)
            #expect(relay["clock"]?.state == "skipped")

            // Somebody stands between here and a vendor: told by name where that is not trusted, and where it is.
            let between = try await stage.webServer(
                for: Self.vendors[0],
                issuedBy: "Inspection CA",
                ["--status", "404"]
            )
            let toVendors = Stage.detour(Self.vendors[0], between.port) + Stage.detour(Self.vendors[1], 1)
            let (opened, _) = try await Self.examine(stage, toVendors + ["--timeout", "60"])
            #expect(opened.code == 69 && opened[Self.vendors[0]]?.intercepted == true)
            let inspection = ["--cacert", "\(stage.folder)/Inspection CA.pem", "--timeout", "60"]
            let (allowed, _) = try await Self.examine(stage, toVendors + inspection)
            #expect(allowed.couldWork, "one vendor's relay will do")
            #expect(allowed[Self.vendors[0]]?.state == "ok" && allowed[Self.vendors[0]]?.intercepted == true)
            #expect(allowed[Self.vendors[1]]?.state == "warning")

            // The relay was reached by the authorities of --cacert, and was gone when the system's were to judge.
            let brief = try await stage.webServer(for: Self.vendors[0], issuedBy: "Inspection CA", ["--most", "1"])
            let once = try await RunningProgram(
                "hybrid-client",
                ["doctor", "--json"] + Stage.detour(Self.vendors[0], brief.port) + Stage.detour(Self.vendors[1], 1)
                    + inspection,
                in: stage.folder,
                environment: stage.environment([:])
            ).ending()
            let unsure = try JSONDecoder().decode(Report.self, from: Data(once.output.utf8))
            #expect(unsure[Self.vendors[0]]?.state == "ok" && unsure[Self.vendors[0]]?.intercepted == nil, "\(once)")
            #expect(unsure[Self.vendors[0]]?.found.contains("is not known") == true, "\(once)")

            let missing = ["--cacert", "\(stage.folder)/none.pem"]
            let (unread, _) = try await Self.examine(stage, toVendors + missing)
            #expect(unread.code == 66)
        }
    }

    @Test("takes no longer than it may, and names what was not looked at")
    func wholeTime() async throws {
        try await Stage.set { stage in
            let bus = try Stage.KeepaliveState(path: stage.folder + "/silent")
            let relay = try Stage.KeepaliveState()
            let (report, _) = try await Self.examine(
                stage,
                ["--cacert", "\(stage.folder)/ca.pem", "--relay", "\(Stage.domain)", "--timeout", "6"]
                    + ([Stage.host] + Self.vendors).flatMap { Stage.detour($0, relay.port) },
                variables: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(stage.folder)/silent"]
            )
            withExtendedLifetime((bus, relay)) {}
            // The bus would have been given ten seconds.
            #expect(report.code == 75 && report["system-bus"]?.found == "was not done within 6 s")
            let radio = ["bluetooth-service", "adapter", "scanning", "hearing", "own-advert"]
            for check in radio {
                #expect(report[check]?.state == "skipped" && report[check]?.found.contains("no time left") == true)
            }
            #expect(report[Stage.host]?.state == "failed" && report[Stage.host]?.found.contains("in time") == true)
        }
    }

    @Test("says that it was interrupted, and nothing of what it had not looked at")
    func interrupted() async throws {
        try await Stage.set(AirSettings(adapters: 1)) { stage in
            let relay = try Stage.KeepaliveState()
            let ways = ([Stage.host] + Self.vendors).flatMap { Stage.detour($0, relay.port) }
            let flags = ["--cacert", "\(stage.folder)/ca.pem", "--relay", "\(Stage.domain)", "--timeout", "100"] + ways
            for extra in [["--json"], []] {
                let doctor = try RunningProgram(
                    "hybrid-client",
                    ["doctor"] + flags + extra,
                    in: stage.folder,
                    environment: stage.environment([:])
                )
                // The last thing it says before it listens, which takes long where nothing is to be heard.
                try await Waiting.until("the adapter is known", within: .seconds(60), evidence: doctor.errors) {
                    (doctor.errors + doctor.output).contains("hci0 is on")
                }
                doctor.send(SIGINT)
                let ending = try await doctor.ending()
                #expect(ending.status == 130, "\(ending)")
                #expect(!(ending.errors + ending.output).contains("FAILED"), "\(ending)")
                guard !extra.isEmpty else {
                    #expect(ending.lastLine == "hybrid-client: interrupted", "\(ending)")
                    #expect(ending.output.split(separator: "\n").count == 3, "\(ending)")
                    continue
                }
                #expect(ending.output.isEmpty, "\(ending)")
                let events = try ending.errors.split(separator: "\n").map {
                    try JSONDecoder().decode(Event.self, from: Data($0.utf8))
                }
                #expect(events.map(\.event) == ["check", "check", "check", "error"], "\(ending)")
                #expect(events.dropLast().allSatisfy { $0.state == "ok" }, "\(ending)")
                #expect(events.last?.code == 130 && events.last?.message == "interrupted", "\(ending)")
            }
            withExtendedLifetime(relay) {}
        }
    }

    private struct Event: Decodable {
        let event: String
        let state: String?
        let code: Int32?
        let message: String?
    }

    @Test("tells of proxies, of redirections and of a clock that is wrong")
    func surroundings() async throws {
        try await Stage.set { stage in
            let first = try Stage.host(of: 267)
            let server = try await stage.webServer(for: Stage.host, ["--clock", "-10900"])
            let sender = try await stage.webServer(
                for: first,
                ["--status", "302", "--location", "https://\(Stage.host){path}"]
            )
            let ways = Stage.detour(first, sender.port) + Stage.detour(Stage.host, server.port)
            let proxy = try await stage.proxy()
            let flags = ["--cacert", "\(stage.folder)/ca.pem", "--relay", "267", "--timeout", "60"]
            let exceptions = Self.vendors.joined(separator: ",")
            let (late, _) = try await Self.examine(
                stage,
                flags + ways + Self.vendors.flatMap { Stage.detour($0, 1) },
                variables: Stage.variables(proxy, user: "u:hunter2@", exceptions: exceptions)
            )
            #expect(late.couldWork)
            #expect(late["proxy"]?.found == "127.0.0.1:\(proxy.port) is set")
            let found = try #require(late[first]?.found)
            #expect(found.contains("through the proxy 127.0.0.1:\(proxy.port)"))
            #expect(found.contains("sent on to \(Stage.host)"))
            #expect(late["clock"]?.state == "warning" && late["clock"]?.found.contains("3 hours ahead of") == true)
            #expect(try proxy.requests().count == 4, "two hosts, twice; the exceptions went without")

            let (unusable, ending) = try await Self.examine(
                stage,
                flags + ways,
                variables: ["https_proxy": "ftp://u:hunter2@x"]
            )
            #expect(unusable.code == 78 && unusable["proxy"]?.state == "warning")
            #expect(!ending.output.contains("hunter2") && !ending.errors.contains("hunter2"))
        }
    }
}
