// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridVirtualBlueZ
import IntegrationTestSupport
import TestSupport
import Testing

/// Runs the probe on the virtual bluetoothd and compares its replies with those recorded from real ones.
///
/// Tests/Acceptance/bluez/probe.py made the recordings in Tests/Vectors/bluez, on virtual controllers of the kernel.
@Suite("The virtual bluetoothd behaves like real ones", .timeLimit(.minutes(10)))
struct RecordedBlueZTests {
    /// An intentional difference of the virtual bluetoothd.
    private struct Difference {
        let at: String
        let reason: String
    }

    private static let differences: [String: [Difference]] = [
        "5.82": listed([
            "profiles of classic Bluetooth are not served": ["adapter/UUIDs"],
            "the recorded controllers support 251 bytes, ours the 31 of older ones": ["advert lengths"],
        ]),
        "5.66": listed([
            "profiles of classic Bluetooth are not served": ["adapter/UUIDs"],
            "the recorded controllers report each advert once": ["repetition"],
            "ours is modeled on 5.82, which has more of these": [
                "objects//org/bluez/hci0", "adapter/Connectable", "adapter/Manufacturer", "adapter/PowerState",
                "adapter/Version", "advertising manager/SupportedCapabilities",
                "advertising manager/SupportedFeatures", "introspection/org.bluez.Adapter1",
                "introspection/org.bluez.LEAdvertisingManager1",
            ],
            "ours is modeled on 5.82, which checks intervals": [
                "advert that is refused/interval", "advert that is refused/shortest",
            ],
            "ours is modeled on 5.82, which reports flags, and UUIDs of service data": [
                "device/broadcast/added/org.bluez.Device1/", "device/peripheral/added/org.bluez.Device1/",
                "device/with list/added/org.bluez.Device1/AdvertisingFlags",
                "new data/second/added/org.bluez.Device1/",
            ],
            "ours is modeled on 5.82, which reports PowerState": [
                "power off while scanning/off/", "power off while scanning/on/", "power off while advertising/off/",
                "power off while advertising/on/",
            ],
        ]),
    ]

    private static func listed(_ reasons: [String: [String]]) -> [Difference] {
        reasons.flatMap { reason, paths in paths.map { Difference(at: $0, reason: reason) } }
    }

    @Test("Each recorded value is equal", arguments: ["5.82", "5.66"])
    func points(_ version: String) async throws {
        let ours = try await Self.probed.value
        let recorded = try Self.points(
            String(contentsOfFile: "\(PackageFolder.path)/Tests/Vectors/bluez/\(version).jsonl", encoding: .utf8)
        )
        #expect(recorded.keys.count > 100)
        let differing = Set(ours.keys).union(recorded.keys).filter { ours[$0] != recorded[$0] }
        let allowed = Self.differences[version, default: []]
        for path in differing.sorted() where !allowed.contains(where: { path.hasPrefix($0.at) }) {
            let (theirs, our) = (String(describing: recorded[path]), String(describing: ours[path]))
            Issue.record("\(path): bluetoothd \(version) says \(theirs), ours \(our)")
        }
        for difference in allowed {
            #expect(
                differing.contains { $0.hasPrefix(difference.at) },
                "this difference no longer exists: \(difference)"
            )
        }
    }

    /// The probe's results for the virtual bluetoothd, which is probed once for all versions.
    private static let probed = Task { try await probe() }

    private static func probe() async throws -> [String: JSONValue] {
        let settings = AirSettings(
            adapters: 3,
            loopback: false,
            firstSeen: .milliseconds(20),
            refresh: .milliseconds(300),
            // The probe must access a device after the end of its advert.
            linger: .seconds(15)
        )
        return try await TestRadio.run(settings) { testRadio in
            var environment = ProcessInfo.processInfo.environment
            environment["DBUS_SYSTEM_BUS_ADDRESS"] = testRadio.bus.address
            let folder = FileManager.default.temporaryDirectory.path + "/hybrid-\(UUID().uuidString.prefix(8))"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let probe = try RunningProgram(
                "/usr/bin/env",
                // On a busy machine, a reaction may take more than half a second.
                ["python3", PackageFolder.path + "/Tests/Acceptance/bluez/probe.py", "--settle", "1"],
                in: folder,
                environment: environment
            )
            let ending = try await probe.ending(within: .seconds(500))
            #expect(ending.status == 0, "\(ending)")
            return try points(ending.output)
        }
    }

    /// Returns the values of a recording by their paths, such as `scan/start/0/answer`.
    private static func points(_ lines: String) throws -> [String: JSONValue] {
        var values: [String: JSONValue] = [:]
        for line in lines.split(separator: "\n") {
            guard
                case .object(let entry) = try JSONDecoder().decode(JSONValue.self, from: Data(line.utf8)),
                case .text(let point)? = entry["point"], let found = entry["found"]
            else { throw JSONValue.Missing.key("point") }
            flatten(found, at: point, into: &values)
        }
        return values
    }

    private static func flatten(_ value: JSONValue, at path: String, into values: inout [String: JSONValue]) {
        switch value {
        case .object(let entries) where !entries.isEmpty:
            for (key, value) in entries {
                flatten(value, at: path + "/" + key, into: &values)
            }
        case .list(let elements) where elements.contains { if case .object = $0 { true } else { false } }:
            values[path + "/count"] = .number(elements.count)
            for (index, value) in elements.enumerated() {
                flatten(value, at: path + "/\(index)", into: &values)
            }
        default: values[path] = value
        }
    }
}
