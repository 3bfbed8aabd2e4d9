// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// A test environment that `hybrid-lab up` provides.
struct LabProcess: Sendable {
    let folder: String
    let program: RunningProgram
    /// The JSON that the program printed.
    let ready: JSONValue
    /// The file in which the phone keeps its passkeys.
    var passkeys: String { folder + "/passkeys.json" }

    /// The results of both programs, and the events of the phone.
    struct Result: CustomStringConvertible {
        let client: RunningProgram.Ending
        let phone: RunningProgram.Ending
        let events: [JSONValue]
        var description: String { "client: \(client)\nphone: \(phone)" }
    }

    static func run(_ body: (LabProcess) async throws -> Void) async throws {
        try await TestFolder.with { folder in
            let program = try RunningProgram("hybrid-lab", ["up", "--json"], in: folder.path)
            _ = try await program.line { $0.contains("ready") }
            defer { program.send(SIGTERM) }
            let ready = try JSONDecoder().decode(JSONValue.self, from: Data(program.output.utf8))
            try await body(LabProcess(folder: folder.path, program: program, ready: ready))
            program.send(SIGTERM)
            _ = try await program.ending()
        }
    }

    /// Returns the environment variables of programs that use the lab.
    func variables() throws -> [String: String] {
        let names = [
            "DBUS_SYSTEM_BUS_ADDRESS", "HYBRID_LAB_CACERT", "HYBRID_LAB_CONNECT_TO", "HYBRID_LAB_TUNNEL_DOMAIN",
        ]
        let values = try ready.value("environment")
        return try names.reduce(into: SpawnedProcess.environment) { $0[$1] = try values.text($1) }
    }

    /// Starts `hybrid-client` and waits for its code.
    func startClient(_ request: String, seconds: Int = 60) async throws -> (program: RunningProgram, code: String) {
        let variables = try variables()
        let client = try RunningProgram(
            "hybrid-client",
            [
                "show-qr", "--request", "-", "--origin", "https://shop.example", "--print-url", "--timeout",
                "\(seconds)", "--cacert", variables["HYBRID_LAB_CACERT"] ?? "", "--connect-to",
                variables["HYBRID_LAB_CONNECT_TO"] ?? "",
            ],
            in: folder,
            environment: variables,
            input: request
        )
        return (client, try await client.line { $0.hasPrefix("FIDO:/") })
    }

    /// Runs a ceremony between `hybrid-client` and the lab's phone.
    ///
    /// - Parameter phoneProgram: The program that runs the phone, with its first arguments.
    func runCeremony(
        _ request: String,
        _ script: String,
        seconds: Int = 60,
        phoneProgram: [String] = ["hybrid-lab"],
        phoneOutput: String? = nil
    ) async throws -> Result {
        let (client, code) = try await startClient(request, seconds: seconds)
        let phone = try RunningProgram(
            phoneProgram[0],
            phoneProgram.dropFirst() + ["phone", "--json", "--script", script, "--passkeys", passkeys, "-"],
            in: folder,
            environment: try variables(),
            input: code + "\n",
            output: phoneOutput
        )
        let (left, right) = (try await client.ending(), try await phone.ending())
        return Result(client: left, phone: right, events: try JSONValue.lines(right.output))
    }

    /// Returns the options of a registration.
    static func creation(_ name: String) -> String {
        """
        {"publicKey": {"rp": {"id": "shop.example", "name": "Shop"}, "challenge": "Y2hhbGxlbmdl",
          "user": {"id": "\(Data(name.utf8).base64EncodedString())", "name": "\(name)", "displayName": ""},
          "pubKeyCredParams": [{"type": "public-key", "alg": -7}, {"type": "public-key", "alg": -257}],
          "authenticatorSelection": {"residentKey": "required", "userVerification": "required"},
          "extensions": {"prf": {}}}}
        """
    }

    /// The options of a sign-in.
    static let assertion = #"{"publicKey": {"rpId": "shop.example", "challenge": "Y2hhbGxlbmdl"}}"#
}
