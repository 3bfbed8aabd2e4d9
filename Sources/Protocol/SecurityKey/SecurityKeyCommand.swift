// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
internal import HybridCTAP

/// The meaning of a CTAP2 command from a client of the key.
enum SecurityKeyCommand {
    /// `authenticatorGetInfo`.
    case info
    /// `authenticatorGetNextAssertion`.
    case next
    /// The user shall select this key; afterwards the client receives this status.
    case presence(CTAPStatus)
    /// A question about credentials.
    case probe(SilentProbe)
    /// A request for the phone.
    case phone(PhoneRequest)
}

/// A reader of the commands that clients send to security keys.
///
/// Commands that phones do not have are never forwarded: PINs, reset, and the management of the key's memory.
struct KeyCommandReader {
    /// Relying parties of SSH keys of the agent, which clients of this key must not use.
    ///
    /// The agent only signs data of the SSH protocol. A client of this key chooses any hash.
    var agentRelyingParties: Set<RelyingPartyID> = []
    /// A source of random bytes.
    let random: @Sendable (Int) -> [UInt8]

    private static let kinds = Set(RelyingPartyID.Kind.allCases)

    /// Returns the meaning of a command and its parameters.
    ///
    /// - Throws: ``CTAPRequestError`` with the status to send in the response.
    func command(_ bytes: [UInt8]) throws(CTAPRequestError) -> SecurityKeyCommand {
        switch bytes.first {
        case CTAPCommand.makeCredential.rawValue: return try makeCredential(try Self.parameters(bytes))
        case CTAPCommand.getAssertion.rawValue: return try getAssertion(try Self.parameters(bytes))
        case Self.getNextAssertion:
            guard bytes.count == 1 else { throw CTAPRequestError(status: .invalidLength, field: nil) }
            return .next
        case CTAPCommand.getInfo.rawValue, CTAPCommand.selection.rawValue:
            return try CTAPRequest(parsing: bytes) == .getInfo ? .info : .presence(.success)
        default: throw CTAPRequestError(status: .invalidCommand, field: nil)
        }
    }

    private static let getNextAssertion: UInt8 = 0x08

    private static func parameters(_ bytes: [UInt8]) throws(CTAPRequestError) -> CBORMap {
        guard let value = try? CBORDecoder.decode(bytes.dropFirst(), mode: .lenient) else {
            throw CTAPRequestError(status: .invalidCBOR, field: nil)
        }
        guard let map = value.map else { throw CTAPRequestError(status: .cborUnexpectedType, field: nil) }
        return map
    }

    private static func request(
        _ command: CTAPCommand,
        _ parameters: CBORMap
    ) throws(CTAPRequestError) -> CTAPRequest {
        try CTAPRequest(parsing: [command.rawValue] + CBOREncoder.encode(parameters), accepting: kinds)
    }
}

// MARK: - makeCredential

extension KeyCommandReader {
    private func makeCredential(_ received: CBORMap) throws(CTAPRequestError) -> SecurityKeyCommand {
        if Self.asksForTouch(received) { return .presence(.pinNotSet) }
        var parameters = received
        parameters[2] = received[2].map(Self.named)
        parameters[3] = received[3].map(Self.withDisplayName)
        parameters[7] = received[7].map(Self.withoutPresence)
        // PIN token and enterprise attestation.
        for key in [8, 9, 10] as [CBORValue] { parameters[key] = nil }
        guard case .makeCredential(let request) = try Self.request(.makeCredential, parameters) else {
            throw CTAPRequestError(status: .other, field: nil)
        }
        guard request.algorithms.contains(where: \.isP256) else {
            throw CTAPRequestError(status: .unsupportedAlgorithm, field: "pubKeyCredParams")
        }
        return .phone(PhoneRequest(request, random: random))
    }

    /// Returns true for a request by which a client lets the user select a key.
    ///
    /// CTAP 2.0 has no command for this purpose, so clients send a request for a credential that is never created.
    private static func asksForTouch(_ parameters: CBORMap) -> Bool {
        if parameters[8] == .bytes([]) { return true }
        switch parameters[2]?.map?["id"]?.text {
        case ".dummy": return true  // Chromium
        case "make.me.blink": return true  // Firefox
        case "localhost":  // libfido2
            return parameters[1] == DummyHash.ofNothing.map { .bytes($0.bytes) }
        default: return false
        }
    }

    /// Returns the relying party with a name; iPhones and Android abort without one.
    private static func named(_ relyingParty: CBORValue) -> CBORValue {
        guard var map = relyingParty.map, map["name"] == nil else { return relyingParty }
        map["name"] = map["id"]
        return .map(map)
    }

    /// Returns the user with a display name; iPhones and Android abort without one.
    private static func withDisplayName(_ user: CBORValue) -> CBORValue {
        guard var map = user.map, map["displayName"] == nil else { return user }
        map["displayName"] = map["name"]
        return .map(map)
    }

    /// Returns options without `up`, which is implied for a new credential.
    private static func withoutPresence(_ options: CBORValue) -> CBORValue {
        guard var map = options.map else { return options }
        map["up"] = nil
        return .map(map)
    }
}

// MARK: - getAssertion

extension KeyCommandReader {
    private func getAssertion(_ received: CBORMap) throws(CTAPRequestError) -> SecurityKeyCommand {
        if received[6] == .bytes([]) { return .presence(.pinNotSet) }
        if let text = received[1]?.text {
            // URLs are AppIDs of U2F credentials, which phones do not have.
            guard let id = RelyingPartyID(text, accepting: Self.kinds), !agentRelyingParties.contains(id) else {
                throw CTAPRequestError(status: .noCredentials, field: "rpId")
            }
        }
        var parameters = received
        // PIN token.
        for key in [6, 7] as [CBORValue] { parameters[key] = nil }
        guard case .getAssertion(let request) = try Self.request(.getAssertion, parameters) else {
            throw CTAPRequestError(status: .other, field: nil)
        }
        return request.userPresence ? .phone(PhoneRequest(request)) : .probe(try SilentProbe(request))
    }
}
