// SPDX-License-Identifier: Apache-2.0

import HybridAsk
import HybridAuthenticator
import HybridCTAP
import HybridCommandSupport
import HybridDBus
import HybridPinentry
import HybridThreads
import HybridVirtualBlueZ
import TestSupport
import Testing

@testable import HybridAuth
@testable import HybridVaultAgent

@Suite("A program that asks while a finger may answer", .timeLimit(.minutes(5)))
struct FingerQuestionTests {
    /// A sensor on a private bus, whose results the test chooses.
    private struct Sensor: Sendable {
        private static let device = "/net/reactivated/Fprint/Device/0"

        let connection: BusConnection
        private let calls: Locked<[String]>

        /// Owns fprintd's name on a bus.
        static func start(on address: BusAddress) async throws -> Sensor {
            let calls = Locked<[String]>([])
            let connection = try await BusConnection.connect(to: address) { message in
                guard message.interface == FingerprintSensor.deviceInterface else {
                    return message.member == "GetDefaultDevice" ? .values([.objectPath(device)]) : .unknownMethod
                }
                calls.withLock { $0.append(message.member) }
                return .values(message.member == "ListEnrolledFingers" ? [.strings(["left-thumb"])] : [])
            }
            _ = try await connection.requestName(FingerprintSensor.name)
            return Sensor(connection: connection, calls: calls)
        }

        /// Waits until the sensor expects a finger, and reports a result.
        func report(_ result: String) async throws {
            try await Waiting.until("the sensor") { calls.withLock { $0.contains("VerifyStart") } }
            let status: [BusValue] = [.string(result), .bool(true)]
            connection.emit(Self.device, FingerprintSensor.deviceInterface, "VerifyStatus", status)
        }
    }

    /// Runs `body` with prompts whose fingerprint is ready, a sensor, and the path of the lines that the program receives.
    private static func with(
        answers: String,
        _ body: @Sendable @escaping (SignInPrompts, Sensor, String) async throws -> Void
    ) async throws {
        let vault = try #require(VaultID("000102030405060708090a0b0c0d0e0f"))
        let key = try #require(Array(UInt8(100)..<132).withUnsafeBytes { StoreKey(bytes: $0) })
        try await TestFolder.with { folder in
            try await PrivateBus.run { bus in
                let sensor = try await Sensor.start(on: bus.busAddress)
                let socket = try ServiceSocket(path: folder.path + "/agent")
                let agent = VaultAgent(
                    survivesSuspend: false,
                    bus: bus.busAddress,
                    matchTimeout: .seconds(3600),
                    now: { .now }
                ) { _ in }
                let running = Task { try await agent.run(on: socket) {} }
                let client = VaultAgentClient(path: folder.path + "/agent")
                do {
                    try await client.hold(key, of: vault, isTest: true, fingers: ["left-thumb"])
                    let questioner = try await questioner(in: folder, answers)
                    var progress = AnswerProgress(json: true)
                    progress.questioner = questioner
                    var context = SignInContext(transport: ClientTransport(relay: "r"), age: nil, virtualRadio: true)
                    context.fingerprint = FingerprintPrompt(client, vault, isTest: true, progress)
                    try await body(SignInPrompts(questioner, context), sensor, folder.path + "/log")
                    questioner.finish(.done)
                } catch {
                    Issue.record(error)
                }
                running.cancel()
                try await running.value
                socket.remove()
                await sensor.connection.close()
            }
        }
    }

    private static func questioner(in folder: TestFolder, _ answers: String) async throws -> Questioner {
        let script = """
            #!/bin/sh
            echo '{"ready":1}'
            while read -r line; do
              printf '%s\\n' "$line" >> '\(folder.path)/log'
              case "$line" in \(answers) esac
            done
            """
        try await TestFile.writeProgram(script, to: folder.path + "/ask")
        return try Questioner(
            program: folder.path + "/ask",
            pinentry: { () throws(PinentryError) in throw .notFound("none") },
            notify: { _, _ in }
        )
    }

    private static func operation() throws -> RequestedOperation {
        .signIn(try #require(RelyingPartyID("example.com")))
    }

    @Test("A finger ends the question, which is withdrawn as touched")
    func touched() async throws {
        try await Self.with(answers: "*) ;;") { prompts, sensor, log in
            let operation = try Self.operation()
            let verifying = Task { try await prompts.verify(for: operation, problem: nil) }
            try await Waiting.until("the question") { TestFile.text(log).contains(#""kind":"pin""#) }
            try await sensor.report("verify-match")
            guard case .key = try await verifying.value else { throw UserRefusal.declined }
            try await Waiting.until("the withdrawal") {
                TestFile.text(log).contains(#"{"withdraw":1,"because":"touched"}"#)
            }
            #expect(TestFile.text(log).contains(#""finger":true"#))
            #expect(TestFile.text(log).contains(#""notice":"touch-sensor""#))
        }
    }

    @Test("A finger answers for a vault whose passkeys are given away, too")
    func vault() async throws {
        try await Self.with(answers: "*) ;;") { prompts, sensor, log in
            let finger = try #require(prompts.context.fingerprint)
            let subject = VaultQuestions.Subject(purpose: .give, text: nil, path: "/vault")
            let asking = Task { await VaultQuestions(questioner: prompts.questioner).pin(subject, or: finger) }
            try await Waiting.until("the question") { TestFile.text(log).contains(#""purpose":"give""#) }
            try await sensor.report("verify-match")
            guard case .finger = await asking.value else { throw UserRefusal.declined }
            try await Waiting.until("the withdrawal") {
                TestFile.text(log).contains(#"{"withdraw":1,"because":"touched"}"#)
            }
            #expect(TestFile.text(log).contains(#""finger":true"#))
        }
    }

    @Test("A typed PIN answers, and nothing is withdrawn")
    func typed() async throws {
        try await Self.with(answers: #"*ask*) echo '{"answer":1,"pin":"1234"}' ;;"#) { prompts, _, log in
            guard case .pin = try await prompts.verify(for: try Self.operation(), problem: nil) else {
                throw UserRefusal.declined
            }
            #expect(!TestFile.text(log).contains("withdraw"))
        }
    }

    @Test("A sensor that fails ends the question, and the next one says why and takes the PIN only")
    func failed() async throws {
        let second = #"*'"ask":2'*) echo '{"answer":2,"pin":"1234"}' ;;"#
        try await Self.with(answers: second) { prompts, sensor, log in
            let operation = try Self.operation()
            let verifying = Task { try await prompts.verify(for: operation, problem: nil) }
            try await Waiting.until("the question") { TestFile.text(log).contains(#""kind":"pin""#) }
            try await sensor.report("verify-disconnected")
            guard case .pin = try await verifying.value else { throw UserRefusal.declined }
            let lines = TestFile.text(log).split(separator: "\n")
            #expect(lines.contains { $0 == #"{"withdraw":1,"because":"finger-failed"}"# })
            let asked = try #require(lines.first { $0.contains(#""ask":2"#) })
            #expect(asked.contains(#""problem":{"code":"finger","message":""#) && !asked.contains("\"finger\":true"))
        }
    }
}
