// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridDBus
import HybridVirtualBlueZ
import TestSupport
import Testing

/// `hybrid-client doctor` with a working setup, and with one fault at a time.
@Suite("The doctor", .keepsEvidence, .serialized)
struct DoctorTests {
    /// The output of the doctor with --json.
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

    /// Runs the doctor with and without --json, and expects the same findings.
    static func examine(
        _ environment: CeremonyEnvironment,
        _ arguments: [String],
        program: String = "hybrid-client",
        variables: [String: String] = [:],
        before: (@Sendable () async throws -> Void)? = nil
    ) async throws -> (report: Report, text: RunningProgram.Ending) {
        func run(_ extra: [String]) async throws -> RunningProgram.Ending {
            try await before?()
            return try await environment.start(program, ["doctor"] + arguments + extra, variables: variables)
                .ending()
        }
        let (text, json) = (try await run([]), try await run(["--json"]))
        #expect(text.status == json.status, "\(text)\n\(json)")
        let report = try JSONDecoder().decode(Report.self, from: Data(json.output.utf8))
        #expect(report.code == json.status && report.couldWork == (json.status == 0), "\(json)")
        let lines = json.errors.split(separator: "\n")
        for line in lines { #expect(line.hasPrefix("{") && line.hasSuffix("}"), "NDJSON: \(line)") }
        #expect(lines.filter { $0.contains(#""event":"check""#) }.count == report.checks.count)
        #expect((lines.last?.contains(#""event":"error""#) ?? false) == (json.status != 0))
        // Durations differ from run to run.
        func timeless(_ line: String) -> String { line.filter { !$0.isNumber } }
        for check in report.checks {
            #expect(timeless(text.output).contains(timeless(check.found)), "\(check)\n\(text)")
        }
        if text.status != 0 {
            #expect(text.lastLine.hasPrefix("\(program): "), "\(text)")
            let obstacle = report.checks.first { $0.state == "failed" }
            #expect(text.lastLine.contains(obstacle?.found ?? "?"), "\(text)")
        }
        return (report, text)
    }

    /// Returns the flags with which the doctor reaches the environment's relay, but not those of vendors.
    private static func flags(_ environment: CeremonyEnvironment) -> [String] {
        environment.network + vendors.flatMap { connectTo($0, 1) } + [
            "--relay", "\(CeremonyEnvironment.domain)", "--timeout", "60",
        ]
    }

    /// Returns the same flags with a short timeout, for a radio without adverts.
    private static func silentRadio(_ environment: CeremonyEnvironment) -> [String] {
        flags(environment) + ["--timeout", "15"]
    }

    @Test("reports no failure with a virtual radio and a relay")
    func healthy() async throws {
        try await CeremonyEnvironment.run { environment in
            let (report, _) = try await Self.examine(environment, Self.flags(environment))
            #expect(report.couldWork && report.virtualRadio)
            let checks = report.checks.map(\.check)
            let ceremony = [
                "system-bus", "bluetooth-service", "adapter", "scanning", "hearing", "own-advert", "proxy", "relay",
                "relay", "relay", "clock",
            ]
            // If the helper is installed, further checks follow.
            #expect(checks.starts(with: ceremony) && checks.contains("security-key-helper"), "\(checks)")
            let unwell = report.checks.filter { $0.state != "ok" }.compactMap(\.subject)
            #expect(unwell == Self.vendors, "another relay is chosen, so the vendors' relays do not matter")
            #expect(report["system-bus"]?.found.contains("VIRTUAL RADIO") == true)
            #expect(report["bluetooth-service"]?.found == "bluetoothd 5.82")
            #expect(report["adapter"]?.found == "hci0 is on; also on: hci1")
            #expect(report[CeremonyEnvironment.host]?.issuer == "test authority")
            try await environment.untilNoAdverts()
        }
    }

    @Test("works with one adapter, and without a free advertising slot")
    func oneAdapter() async throws {
        try await CeremonyEnvironment.run(AirSettings(adapters: 1)) { environment in
            let (quiet, _) = try await Self.examine(environment, Self.silentRadio(environment))
            #expect(quiet.couldWork)
            #expect(quiet["own-advert"]?.state == "skipped" && quiet["hearing"]?.state == "warning")
            let foreign = try await environment.air.inject(properties: ["Address": .string("00:11:22:33:44:55")])
            let (busy, _) = try await Self.examine(environment, Self.flags(environment))
            #expect(busy["hearing"]?.state == "ok")
            try await environment.air.remove(foreign)
        }
        try await CeremonyEnvironment.run { environment in
            for adapter in ["hci0", "hci1"] { try await environment.air.setSlots(adapter, 0) }
            let (full, _) = try await Self.examine(environment, Self.silentRadio(environment))
            #expect(full.couldWork && full["own-advert"]?.state == "skipped")
        }
    }

    @Test("reports what prevents the use of Bluetooth")
    func radio() async throws {
        try await CeremonyEnvironment.run { environment in
            let flags = Self.flags(environment)
            let noBus = ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(environment.folder)/none"]
            let (busless, _) = try await Self.examine(environment, flags, variables: noBus)
            #expect(busless.code == 69 && busless["system-bus"]?.state == "failed")
            #expect(busless["system-bus"]?.remedy?.contains("systemctl start dbus") == true)
            #expect(busless[CeremonyEnvironment.host]?.state == "ok", "the network is checked all the same")

            for adapter in ["hci0", "hci1"] { try await environment.air.setPowered(adapter, false) }
            let (off, _) = try await Self.examine(environment, flags)
            #expect(off.code == 69 && off["adapter"]?.found == "Bluetooth is off (hci0)")
            #expect(off["adapter"]?.remedy?.contains("bluetoothctl power on") == true)

            for adapter in ["hci0", "hci1"] { try await environment.air.setBlocked(adapter, true) }
            let (blocked, _) = try await Self.examine(environment, flags)
            #expect(blocked.code == 69 && blocked["adapter"]?.found == "hci0 is blocked (rfkill)")
            #expect(blocked["adapter"]?.remedy?.contains("rfkill unblock bluetooth") == true)
            #expect(blocked["scanning"]?.state == "skipped")

            try await environment.air.setPowered("hci1", true)
            let (second, _) = try await Self.examine(environment, Self.silentRadio(environment))
            #expect(second.couldWork && second["adapter"]?.found == "hci1 is on", "the adapter that is on is used")
            let (named, _) = try await Self.examine(environment, flags + ["--adapter", "hci0"])
            #expect(named.code == 69, "unless another adapter is named")
            let (unknown, _) = try await Self.examine(environment, flags + ["--adapter", "hci7"])
            #expect(unknown["adapter"]?.found == "there is no Bluetooth adapter hci7")

            let (forbidden, _) = try await Self.examine(environment, flags) {
                try await environment.air.failNext(
                    "StartDiscovery",
                    name: "org.freedesktop.DBus.Error.AccessDenied",
                    message: "rejected by policy"
                )
            }
            #expect(forbidden.code == 69 && forbidden["scanning"]?.state == "failed")
            #expect(forbidden["scanning"]?.found.contains("is not permitted to use Bluetooth") == true)

            try await environment.air.stopService()
            let (serviceless, _) = try await Self.examine(environment, flags)
            #expect(serviceless.code == 69 && serviceless["bluetooth-service"]?.state == "failed")
            try await environment.air.startService()
        }
    }

    @Test("reports faults of relays, and interception of TLS")
    func relays() async throws {
        try await CeremonyEnvironment.run { environment in
            let trust = environment.trust + ["--timeout", "60"]
            let foreign = try await environment.webServer(for: CeremonyEnvironment.host, issuedBy: "Foreign CA")
            let (relay, _) = try await Self.examine(
                environment,
                trust + connectTo(CeremonyEnvironment.host, foreign.port)
                    + Self.vendors.flatMap { connectTo($0, 1) }
                    + ["--relay", CeremonyEnvironment.host]
            )
            #expect(relay.code == 69 && relay[CeremonyEnvironment.host]?.state == "failed")
            #expect(relay[CeremonyEnvironment.host]?.issuer == "Foreign CA, Corporation")
            #expect(relay[CeremonyEnvironment.host]?.found.contains("issued by \"Foreign CA, Corporation\"") == true)
            #expect(relay["clock"]?.state == "skipped")

            // A network intercepts TLS to a vendor: reported with the issuer, whether that is trusted or not.
            let between = try await environment.webServer(
                for: Self.vendors[0],
                issuedBy: "Inspection CA",
                ["--status", "404"]
            )
            let toVendors =
                connectTo(Self.vendors[0], between.port)
                + connectTo(Self.vendors[1], 1)
            let (opened, _) = try await Self.examine(environment, toVendors + ["--timeout", "60"])
            #expect(opened.code == 69 && opened[Self.vendors[0]]?.intercepted == true)
            let inspection = ["--cacert", "\(environment.folder)/Inspection CA.pem", "--timeout", "60"]
            let (allowed, _) = try await Self.examine(environment, toVendors + inspection)
            #expect(allowed.couldWork, "one vendor's relay is enough")
            #expect(allowed[Self.vendors[0]]?.state == "ok" && allowed[Self.vendors[0]]?.intercepted == true)
            #expect(allowed[Self.vendors[1]]?.state == "warning")

            // The relay is reachable for the check with --cacert, but not for the one with the system's authorities.
            let brief = try await environment.webServer(
                for: Self.vendors[0],
                issuedBy: "Inspection CA",
                ["--most", "1"]
            )
            let once = try await environment.start(
                "hybrid-client",
                ["doctor", "--json"] + connectTo(Self.vendors[0], brief.port)
                    + connectTo(Self.vendors[1], 1)
                    + inspection
            ).ending()
            let unsure = try JSONDecoder().decode(Report.self, from: Data(once.output.utf8))
            #expect(unsure[Self.vendors[0]]?.state == "ok" && unsure[Self.vendors[0]]?.intercepted == nil, "\(once)")
            #expect(unsure[Self.vendors[0]]?.found.contains("is not known") == true, "\(once)")

            let missing = ["--cacert", "\(environment.folder)/none.pem"]
            let (unread, _) = try await Self.examine(environment, toVendors + missing)
            #expect(unread.code == 66)
        }
    }

    @Test("stays within its time limit, and names the checks that it skipped")
    func wholeTime() async throws {
        try await CeremonyEnvironment.run { environment in
            let bus = try UnresponsiveSocket(path: environment.folder + "/silent")
            let relay = try UnresponsiveSocket()
            let (report, _) = try await Self.examine(
                environment,
                environment.trust + ["--relay", "\(CeremonyEnvironment.domain)", "--timeout", "6"]
                    + ([CeremonyEnvironment.host] + Self.vendors).flatMap {
                        connectTo($0, relay.port)
                    },
                variables: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(environment.folder)/silent"]
            )
            withExtendedLifetime((bus, relay)) {}
            // Without the limit, the check of the bus would take ten seconds.
            #expect(report.code == 75 && report["system-bus"]?.found == "did not finish within 6 s")
            let radio = ["bluetooth-service", "adapter", "scanning", "hearing", "own-advert"]
            for check in radio {
                #expect(report[check]?.state == "skipped" && report[check]?.found.contains("no time left") == true)
            }
            #expect(
                report[CeremonyEnvironment.host]?.state == "failed"
                    && report[CeremonyEnvironment.host]?.found.contains("in time") == true
            )
        }
    }

    @Test("reports an interruption, and no check that it has not done")
    func interrupted() async throws {
        try await CeremonyEnvironment.run(AirSettings(adapters: 1)) { environment in
            let relay = try UnresponsiveSocket()
            let ways = ([CeremonyEnvironment.host] + Self.vendors).flatMap {
                connectTo($0, relay.port)
            }
            let flags = environment.trust + ["--relay", "\(CeremonyEnvironment.domain)", "--timeout", "100"] + ways
            for extra in [["--json"], []] {
                let doctor = try environment.start("hybrid-client", ["doctor"] + flags + extra)
                // The last line before it scans, which takes long without adverts.
                try await Waiting.until("the adapter is known", evidence: doctor.errors) {
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

    @Test("reports proxies, redirects and a wrong clock")
    func network() async throws {
        try await CeremonyEnvironment.run { environment in
            let first = try CeremonyEnvironment.host(of: 267)
            let server = try await environment.webServer(for: CeremonyEnvironment.host, ["--clock", "-10900"])
            let sender = try await environment.webServer(
                for: first,
                ["--status", "302", "--location", "https://\(CeremonyEnvironment.host){path}"]
            )
            let ways =
                connectTo(first, sender.port)
                + connectTo(CeremonyEnvironment.host, server.port)
            let proxy = try await environment.proxy()
            let flags = environment.trust + ["--relay", "267", "--timeout", "60"]
            let exceptions = Self.vendors.joined(separator: ",")
            let (late, _) = try await Self.examine(
                environment,
                flags + ways + Self.vendors.flatMap { connectTo($0, 1) },
                variables: CeremonyEnvironment.variables(proxy, user: "u:hunter2@", exceptions: exceptions)
            )
            #expect(late.couldWork)
            #expect(late["proxy"]?.found == "127.0.0.1:\(proxy.port) is set")
            let found = try #require(late[first]?.found)
            #expect(found.contains("through the proxy 127.0.0.1:\(proxy.port)"))
            #expect(found.contains("redirected to \(CeremonyEnvironment.host)"))
            #expect(late["clock"]?.state == "warning" && late["clock"]?.found.contains("3 hours ahead of") == true)
            #expect(try proxy.requests().count == 4, "two hosts, twice, without the exceptions")

            let (unusable, ending) = try await Self.examine(
                environment,
                flags + ways,
                variables: ["https_proxy": "ftp://u:hunter2@x"]
            )
            #expect(unusable.code == 78 && unusable["proxy"]?.state == "warning")
            #expect(!ending.output.contains("hunter2") && !ending.errors.contains("hunter2"))
        }
    }
}
