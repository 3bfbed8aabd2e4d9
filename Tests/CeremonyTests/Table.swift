// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport

/// A table that `hybrid-lab up` has set.
struct Table: Sendable {
    let folder: String
    let lab: RunningProgram
    /// What it printed.
    let ready: JSONValue
    /// Where the phone keeps its passkeys.
    var passkeys: String { folder + "/passkeys.json" }

    struct Ended: CustomStringConvertible {
        let desktop: RunningProgram.Ending
        let phone: RunningProgram.Ending
        let events: [JSONValue]
        var description: String { "desktop: \(desktop)\nphone: \(phone)" }
    }

    static func folder() throws -> String {
        let folder = FileManager.default.temporaryDirectory.path + "/hybrid-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return folder
    }

    static func set(_ body: (Table) async throws -> Void) async throws {
        let folder = try folder()
        let lab = try RunningProgram(
            "hybrid-lab",
            ["up", "--json"],
            in: folder,
            environment: ProcessInfo.processInfo.environment
        )
        _ = try await lab.line { $0.contains("ready") }
        do {
            try await body(
                Table(
                    folder: folder,
                    lab: lab,
                    ready: try JSONDecoder().decode(JSONValue.self, from: Data(lab.output.utf8))
                )
            )
        } catch {
            lab.send(SIGTERM)
            throw error
        }
        lab.send(SIGTERM)
        _ = try await lab.ending()
        try FileManager.default.removeItem(atPath: folder)
    }

    /// One ceremony between `hybrid-client` and the lab's phone.
    ///
    /// - Parameter phoneProgram: What runs the phone, which it gets as further words.
    func ceremony(
        _ request: String,
        _ script: String,
        seconds: Int = 60,
        phoneProgram: [String] = ["hybrid-lab"],
        phoneOutput: String? = nil
    ) async throws -> Ended {
        let surroundings = try ready.value("environment")
        let environment = ProcessInfo.processInfo.environment.merging([
            "DBUS_SYSTEM_BUS_ADDRESS": try surroundings.text("DBUS_SYSTEM_BUS_ADDRESS"),
            "HYBRID_LAB_CACERT": try surroundings.text("HYBRID_LAB_CACERT"),
            "HYBRID_LAB_CONNECT_TO": try surroundings.text("HYBRID_LAB_CONNECT_TO"),
            "HYBRID_LAB_TUNNEL_DOMAIN": try surroundings.text("HYBRID_LAB_TUNNEL_DOMAIN"),
        ]) { $1 }
        let desktop = try RunningProgram(
            "hybrid-client",
            [
                "show-qr", "--request", "-", "--origin", "https://shop.example", "--print-url", "--timeout",
                "\(seconds)", "--cacert", surroundings.text("HYBRID_LAB_CACERT"), "--connect-to",
                surroundings.text("HYBRID_LAB_CONNECT_TO"),
            ],
            in: folder,
            environment: environment,
            input: request
        )
        let code = try await desktop.line { $0.hasPrefix("FIDO:/") }
        let phone = try RunningProgram(
            phoneProgram[0],
            phoneProgram.dropFirst() + ["phone", "--json", "--script", script, "--passkeys", passkeys, "-"],
            in: folder,
            environment: environment,
            input: code + "\n",
            output: phoneOutput
        )
        let (left, right) = (try await desktop.ending(), try await phone.ending())
        let events = try right.output.split(separator: "\n").map {
            try JSONDecoder().decode(JSONValue.self, from: Data($0.utf8))
        }
        return Ended(desktop: left, phone: right, events: events)
    }

    static func creation(_ name: String) -> String {
        """
        {"publicKey": {"rp": {"id": "shop.example", "name": "Shop"}, "challenge": "Y2hhbGxlbmdl",
          "user": {"id": "\(Data(name.utf8).base64EncodedString())", "name": "\(name)", "displayName": ""},
          "pubKeyCredParams": [{"type": "public-key", "alg": -7}, {"type": "public-key", "alg": -257}],
          "authenticatorSelection": {"residentKey": "required", "userVerification": "required"},
          "extensions": {"prf": {}}}}
        """
    }

    static let assertion = #"{"publicKey": {"rpId": "shop.example", "challenge": "Y2hhbGxlbmdl"}}"#
}
