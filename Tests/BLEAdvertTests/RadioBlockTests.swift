// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridDBus
import Testing

@testable import HybridBLEAdvert

/// Tests with a folder of the same form as `/sys/class/rfkill`.
@Suite("The block of an adapter")
struct RadioBlockTests {
    /// The files of a switch.
    private struct Switch {
        let folder: String
        let files: [String: String]

        init(_ folder: String, name: String, soft: String = "0\n", hard: String = "0\n") {
            self.folder = folder
            files = ["name": name + "\n", "soft": soft, "hard": hard]
        }

        init(_ folder: String, files: [String: String]) {
            self.folder = folder
            self.files = files
        }
    }

    private func block(_ switches: [Switch], of adapter: String = "hci0") throws -> RadioBlock? {
        let folder = NSTemporaryDirectory() + "rfkill-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for one in switches {
            let path = "\(folder)/\(one.folder)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            for (name, text) in one.files { try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)")) }
        }
        return RadioBlock(of: try #require(AdapterName(adapter)), in: folder)
    }

    @Test("is that of the switch with the adapter's name; a hard block has priority")
    func switches() throws {
        let (free, soft) = (Switch("rfkill0", name: "hci0"), Switch("rfkill1", name: "hci0", soft: "1\n"))
        let hard = Switch("rfkill2", name: "hci0", hard: "1\n")
        #expect(try block([]) == nil)
        #expect(try block([free]) == nil)
        #expect(try block([soft]) == .soft)
        #expect(try block([hard]) == .hard)
        #expect(try block([free, soft]) == .soft)
        #expect(try block([soft, hard]) == .hard && block([hard, soft]) == .hard)
        #expect(try block([Switch("rfkill3", name: "hci0", soft: "1\n", hard: "1\n")]) == .hard)
    }

    @Test("is not that of other adapters' switches or malformed files")
    func others() throws {
        #expect(try block([Switch("rfkill0", name: "phy0", hard: "1\n")]) == nil)
        #expect(try block([Switch("rfkill0", name: "hci1", soft: "1\n")]) == nil)
        #expect(try block([Switch("rfkill0", name: "hci10", soft: "1\n")], of: "hci1") == nil)
        #expect(try block([Switch("other", name: "hci0", soft: "1\n")]) == nil)
        #expect(try block([Switch("rfkill0", files: ["soft": "1\n"])]) == nil, "no name")
        #expect(try block([Switch("rfkill0", files: ["name": "hci0\n"])]) == nil, "no switch")
        #expect(try block([Switch("rfkill0", name: "hci0", soft: "", hard: "yes\n")]) == nil)
        let long = String(repeating: "x", count: 100_000)
        #expect(try block([Switch("rfkill0", name: "hci0" + long, soft: "1\n" + long)]) == nil)
        let none = NSTemporaryDirectory() + "none-" + UUID().uuidString
        #expect(RadioBlock(of: try #require(AdapterName("hci0")), in: none) == nil)
    }
}
