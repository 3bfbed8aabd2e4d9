// SPDX-License-Identifier: Apache-2.0

package import HybridAge
package import HybridCTAP
internal import HybridCommandSupport
package import HybridKeyService
internal import HybridPrimitives
internal import HybridProgram

/// A phone that is asked for secrets, in ceremonies that are processes of their own.
package struct SecretPhone: Sendable {
    /// A request to the phone.
    package struct Request: Sendable {
        /// The command.
        package let command: CeremonyRequest.Command
        /// The purpose on one line, for the user.
        package let purpose: String
        /// The event `request` for a prompt, on one line.
        package let event: String
    }

    /// A closure that performs the ceremony of a request.
    package typealias Perform = @Sendable (Request) async throws -> CeremonyOutcome

    private let seconds: Int
    private let record: @Sendable (_ id: RelyingPartyID, _ purpose: String, _ result: String) -> Void
    private let perform: Perform

    /// Creates a phone.
    ///
    /// - Parameters:
    ///   - seconds: The time limit in seconds for finding a phone, and again for its user.
    ///   - journal: The journal, in which each request is recorded.
    ///   - door: The interface through which the requests come.
    ///   - report: A closure that receives a sentence if the journal can't be written.
    ///   - perform: Performs the ceremony of a request.
    package init(
        seconds: Int,
        journal: Journal,
        door: JournalEntry.Door,
        report: @escaping @Sendable (String) -> Void,
        perform: @escaping Perform
    ) {
        (self.seconds, self.perform) = (seconds, perform)
        record = { id, purpose, result in
            journal.record(purpose, of: id.text, by: door, result: result, report: report)
        }
    }

    /// The results of a passkey.
    package struct Results: Sendable {
        /// The key from the results.
        package let key: PRFKey
        /// The passkey; `nil` if the phone does not name it.
        package let passkey: CredentialID?
        /// True if the passkey was created through this computer, and has signed the response.
        package let isVerified: Bool
    }

    /// Asks for the results of a passkey.
    ///
    /// - Parameters:
    ///   - question: The question.
    ///   - purpose: The purpose of the secret, if it is for one only.
    /// - Throws: ``CommandFailure``, with the code `no-passkey` if the phone has none of the passkeys.
    package func results(for question: PhoneQuestion, purpose: SecretPurpose? = nil) async throws -> Results {
        let text = question.text(purpose)
        let event = question.event(purpose, timeout: .seconds(seconds))
        let request = Request(command: .sign(question.request), purpose: text, event: event)
        return try await answer(to: request, question.relyingPartyID) { (answer) throws(CommandFailure) in
            switch PhoneAnswer(answer.response, to: question) {
            case .results(let key, let passkey):
                return Results(key: key, passkey: passkey, isVerified: answer.isVerified)
            case .noPasskey(let text), .failed(let text):
                throw CommandFailure(text, code: "no-secret-from-phone", status: .dataError)
            }
        }
    }

    /// Opens a key.
    ///
    /// - Throws: ``CommandFailure``, also if the phone that answers has another passkey.
    package func open(_ sealed: SealedKey, for purpose: SecretPurpose? = nil) async throws -> AgeSecretKey {
        let results = try await results(for: PhoneQuestion(opening: sealed), purpose: purpose)
        return try Self.key(of: sealed, results)
    }

    /// Returns the key that the results open.
    static func key(of sealed: SealedKey, _ results: Results) throws(CommandFailure) -> AgeSecretKey {
        guard let key = sealed.open(with: results.key, of: results.passkey) else {
            throw CommandFailure(FileUnwrapping.doesNotOpen(sealed), code: "wrong-phone", status: .notPermitted)
        }
        return key
    }

    /// Creates a passkey.
    func create(_ creation: SecretPasskeyCreation) async throws -> SecretPasskeyCreation.Passkey {
        let request = Request(
            command: .create(creation.request),
            purpose: creation.purpose,
            event: creation.event(timeout: .seconds(seconds))
        )
        return try await answer(to: request, creation.relyingPartyID) { (answer) throws(CommandFailure) in
            try creation.passkey(in: answer.response)
        }
    }

    private func answer<Value: Sendable>(
        to request: Request,
        _ id: RelyingPartyID,
        _ value: (CeremonyAnswer) throws(CommandFailure) -> Value
    ) async throws -> Value {
        do {
            let outcome = try await perform(request)
            let value = try value(try Self.answer(of: outcome))
            record(id, request.purpose, "answered")
            return value
        } catch let failure as CommandFailure {
            record(id, request.purpose, failure.status == .interrupted ? "cancelled" : failure.journalResult)
            throw failure
        }
    }

    private static func answer(of outcome: CeremonyOutcome) throws(CommandFailure) -> CeremonyAnswer {
        switch outcome {
        case .answered(let answer): return answer
        case .cancelled: throw CommandFailure("it was cancelled", status: .interrupted)
        case .sessionLocked: throw CommandFailure.sessionLocked
        case .refused(_, let failure), .failed(let failure): throw failure
        }
    }
}

extension PhoneQuestion {
    /// The purpose on one line, for a terminal, the journal and a page.
    func text(_ purpose: SecretPurpose?) -> String {
        let forPurpose = purpose.map { " for \(SafeText(quoting: $0.text))" } ?? ""
        switch self.purpose {
        case .open(let name): return "open the key \(SafeText(quoting: name.text))\(forPurpose)"
        case .encrypt: return "encrypt a file with the passkey of \(relyingPartyID)"
        case .decrypt(let attempt, let attempts):
            let which = attempts > 1 ? ", attempt \(attempt) of \(attempts)" : ""
            return "decrypt a file with the passkey of \(relyingPartyID)\(which)"
        }
    }

    /// The event `request` for a prompt, on one line without a line end.
    func event(_ purpose: SecretPurpose?, timeout: Duration) -> String {
        var members: [(String, JSONText)]
        switch self.purpose {
        case .open(let name):
            members = [("operation", .string("secret-open")), ("key", .string(name.text))]
            if let purpose { members.append(("purpose", .string(purpose.text))) }
        case .encrypt: members = [("operation", .string("secret-encrypt"))]
        case .decrypt(let attempt, let attempts):
            members = [
                ("operation", .string("secret-decrypt")), ("attempt", .number(attempt)),
                ("attempts", .number(attempts)),
            ]
        }
        return JSONText.request(members, relyingPartyID, timeout)
    }
}

extension JSONText {
    /// Returns the event `request` on one line.
    static func request(_ members: [(String, JSONText)], _ id: RelyingPartyID, _ timeout: Duration) -> String {
        let rest: [(String, JSONText)] = [
            ("rp_id", .string(id.text)), ("timeout_ms", .number(Int(timeout / .milliseconds(1)))),
        ]
        return JSONText.object([("event", .string("request"))] + members + rest).description
    }
}
