// SPDX-License-Identifier: Apache-2.0

import Crypto
import Glibc
import HybridCTAP
import HybridPrimitives
import HybridSecurityKey
import TestSupport
import Testing

@Suite("Clients of security keys", .timeLimit(.minutes(2)))
struct ClientTests {
    @Test("python-fido2 registers, signs in, probes, selects and cancels")
    func fido2() async throws { try await run("fido2_client.py") }

    @Test("libfido2 registers, signs in, probes, selects and cancels")
    func libfido2() async throws { try await run("libfido2_client.py") }

    /// Runs a client with a key and a phone of its own.
    private func run(_ script: String) async throws {
        try await TestFolder.with { folder in
            let pipes = try ReportPipes(in: folder)
            let client = try SpawnedProcess(
                [try Python.path(), PackageFolder.path + "/Tests/Protocol/SecurityKeyTests/" + script],
                input: pipes.toClient.path,
                output: pipes.fromClient.path,
                errors: folder.path + "/errors"
            )
            var device = PhoneBackedKey(try SampleKey.make())
            let start = ContinuousClock.now
            while client.exitStatus == nil {
                for report in pipes.read() { try pipes.write(device.receive(report, at: start.duration(to: .now))) }
                try pipes.write(device.advance(to: start.duration(to: .now)))
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(client.exitStatus == 0, "\(TestFile.text(folder.path + "/errors"))")
            #expect(device.savedMemory != nil, "the SSH key is noted")
        }
    }
}

/// A key whose windows are confirmed at once, with a phone that has each credential that it created.
private struct PhoneBackedKey {
    private var key: SecurityKey
    private var privateKeys: [CredentialID: P256.Signing.PrivateKey] = [:]
    private(set) var savedMemory: CredentialMemory?
    /// Time that is skipped after each window, because only three open in a minute.
    private var skipped = Duration.zero

    init(_ key: SecurityKey) { self.key = key }

    mutating func receive(_ report: HIDReport, at now: Duration) throws -> [HIDReport] {
        let now = now + skipped
        return try perform(key.receive(report, at: now), at: now)
    }

    mutating func advance(to now: Duration) throws -> [HIDReport] {
        let now = now + skipped
        return try perform(key.advance(to: now), at: now)
    }

    private mutating func perform(_ actions: [SecurityKeyAction], at now: Duration) throws -> [HIDReport] {
        var reports: [HIDReport] = []
        for action in actions {
            switch action {
            case .send(let report): reports.append(report)
            case .askPresence(let id):
                reports += try perform(key.windowEnded(id, by: .confirmation, at: now), at: now)
            case .askPhone(let id, let request, _, _):
                guard request.relyingParty.text != "wait.example" else { continue }
                let response = try respond(to: request.request(for: SecurityKey.info))
                reports += try perform(key.phoneEnded(id, with: .responded(response), at: now), at: now)
                // The user closes a window that shows a message.
                reports += try perform(key.windowEnded(id, by: .closing, at: now), at: now)
            case .closeWindow: skipped += .seconds(30)
            case .memoryChanged: savedMemory = key.memory
            }
        }
        return reports
    }

    private mutating func respond(to request: CTAPRequest) throws -> CTAPResponse {
        switch request {
        case .makeCredential(let request):
            guard request.excludeList.allSatisfy({ privateKeys[$0.id] == nil }) else {
                return .failure(.credentialExcluded)
            }
            let id = try #require(CredentialID(bytes: [UInt8](repeating: UInt8(privateKeys.count + 100), count: 32)))
            let privateKey = P256.Signing.PrivateKey()
            privateKeys[id] = privateKey
            let credential = AttestedCredential(aaguid: .zero, id: id, publicKey: COSEKey(privateKey.publicKey))
            let data = Self.data(request.relyingParty.id, credential)
            return .success(MakeCredentialResponse(authenticatorData: data).encoded)
        case .getAssertion(let request):
            guard let id = request.allowList.map(\.id).first(where: { privateKeys[$0] != nil }),
                let privateKey = privateKeys[id]
            else { return .failure(.noCredentials) }
            let data = Self.data(request.relyingPartyID, nil)
            let signature = try privateKey.signature(for: data.encoded + request.clientDataHash.bytes)
            let response = GetAssertionResponse(
                credential: CredentialDescriptor(id: id),
                authenticatorData: data,
                signature: Array(signature.derRepresentation),
                userSelected: true
            )
            return .success(response.encoded)
        case .getInfo, .selection:
            return .failure(.invalidCommand)
        }
    }

    private static func data(_ relyingParty: RelyingPartyID, _ credential: AttestedCredential?) -> AuthenticatorData {
        AuthenticatorData(
            relyingPartyIDHash: relyingParty.hash,
            flags: [.userPresent, .userVerified],
            signatureCount: 0,
            attestedCredential: credential
        )
    }
}

/// Two FIFOs that carry reports between this process and a client.
private final class ReportPipes: Sendable {
    struct Pipe {
        let path: String
        let descriptor: Int32

        init(_ path: String) throws {
            self.path = path
            try #require(mkfifo(path, 0o600) == 0)
            // Opened for both directions, so that opening does not wait for the client.
            descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            try #require(descriptor >= 0)
        }
    }

    let toClient: Pipe
    let fromClient: Pipe

    init(in folder: TestFolder) throws {
        toClient = try Pipe(folder.path + "/to-client")
        fromClient = try Pipe(folder.path + "/from-client")
    }

    deinit {
        close(toClient.descriptor)
        close(fromClient.descriptor)
    }

    /// Returns the reports that have arrived; writes of 64 bytes are atomic.
    func read() -> [HIDReport] {
        var reports: [HIDReport] = []
        var bytes = [UInt8](repeating: 0, count: HIDReport.length)
        while Glibc.read(fromClient.descriptor, &bytes, bytes.count) == bytes.count {
            if let report = HIDReport(bytes: bytes) { reports.append(report) }
        }
        return reports
    }

    func write(_ reports: [HIDReport]) throws {
        for report in reports {
            try #require(Glibc.write(toClient.descriptor, report.bytes, report.bytes.count) == report.bytes.count)
        }
    }
}
