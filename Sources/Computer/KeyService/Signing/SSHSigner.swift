// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
package import HybridSSHAgent

/// The signatures of the agent, each made by a ceremony with the phone that has the passkey.
package struct SSHSigner: Sendable {
    private let keys: SSHKeyRing
    private let launcher: CeremonyLauncher
    private let journal: Journal
    private let knownHosts: [String]
    private let seconds: Int
    private let report: @Sendable (String) -> Void

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - launcher: The launcher of ceremonies.
    ///   - journal: The journal, in which each request is recorded.
    ///   - knownHosts: The paths of known_hosts files.
    ///   - seconds: The time limit in seconds for finding a phone, and again for its user.
    ///   - report: A closure that receives a sentence if the journal can't be written.
    package init(
        keys: SSHKeyRing,
        launcher: CeremonyLauncher,
        journal: Journal,
        knownHosts: [String],
        seconds: Int,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.keys = keys
        self.launcher = launcher
        self.journal = journal
        self.knownHosts = knownHosts
        self.seconds = seconds
        self.report = report
    }

    /// Returns the signature for a request of a client, or the reason why none was made; blocks until then.
    @Sendable package func sign(_ job: SigningJob) -> Result<SSHSignature, AgentRefusal> {
        guard let key = keys.key(job.request.key.publicKey) else { return .failure(.unknownKey) }
        let hostName = job.request.host.flatMap { host in
            KnownHosts(paths: knownHosts, report: report).name(
                of: host,
                candidates: HostCandidates.names(inCommandLine: job.client.commandLine)
            )
        }
        let description = SigningDescription(job.request, hostName: hostName)
        let (signature, result) = perform(job, key, description)
        if case .failure(.sessionLocked) = signature { return signature }
        journal.record(description.text, of: key.relyingPartyID.text, by: .agent, result: result, report: report)
        return signature
    }

    private func perform(
        _ job: SigningJob,
        _ key: StoredSSHKey,
        _ description: SigningDescription
    ) -> (Result<SSHSignature, AgentRefusal>, result: String) {
        let command = Self.command(for: job.request.data, with: key)
        guard let command else { return (.failure(.notSigned), "failed") }
        let outcome = launcher.perform(
            CeremonyRequest(
                .sign(command),
                purpose: description.text,
                seconds: seconds,
                isForGuest: job.isForGuest
            ),
            event: description.event(timeout: .seconds(seconds)),
            cancellation: job.cancellation
        )
        switch outcome {
        case .sessionLocked: return (.failure(.sessionLocked), "failed: the session is locked")
        case .cancelled: return (.failure(.notSigned), "cancelled")
        case .refused(_, let failure), .failed(let failure):
            let sentence = failure.logSentence(without: key.relyingPartyID)
            return (.failure(.ceremony(code: failure.code, sentence)), failure.journalResult)
        case .answered(let answer):
            guard let signature = Self.signature(in: answer.response, by: key, over: job.request.data) else {
                return (.failure(.notSigned), "failed: the phone's answer is not a signature for this request")
            }
            return (.success(signature), "signed")
        }
    }

    /// Returns the request to a phone for a signature of data; `nil` if there is none, which does not happen.
    static func command(for data: SignedData, with key: StoredSSHKey) -> GetAssertionRequest? {
        guard let hash = ClientDataHash(bytes: data.hash) else { return nil }
        return GetAssertionRequest(
            relyingPartyID: key.relyingPartyID,
            clientDataHash: hash,
            allowList: [CredentialDescriptor(id: key.credentialID)],
            // A phone that knows the extension shows the data, which this computer cannot misrepresent.
            extensions: SignedDataInput(bytes: data.bytes)?.extensionInput,
            userVerification: true
        )
    }

    /// Returns the signature in a phone's answer; `nil` unless it was made by this key over this data.
    static func signature(in bytes: [UInt8], by key: StoredSSHKey, over data: SignedData) -> SSHSignature? {
        guard let response = try? CTAPResponse(parsing: bytes), response.status == .success,
            let assertion = try? GetAssertionResponse(parsing: response.body),
            // The request requires it; the signature's type does not.
            assertion.authenticatorData.flags.contains(.userVerified),
            assertion.credential.map({ $0.id == key.credentialID }) ?? true
        else { return nil }
        return try? SSHSignature(
            derSignature: assertion.signature,
            authenticatorData: assertion.authenticatorData.encoded,
            by: key.publicKey,
            over: data
        )
    }
}
