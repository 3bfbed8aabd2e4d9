// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP
internal import HybridDeflate
internal import HybridPrimitives

/// The extensions of a registration; unknown ones are ignored (WebAuthn Level 3 §9.4).
public struct CreationExtensions: Equatable, Sendable {
    /// True if the website requests `credProps` (§10.1.3), whose result states if the passkey is discoverable.
    public var credentialProperties = false
    /// Input of `prf` (§10.1.4); `nil` if absent.
    public var prf: PRFInput?
    /// True if support for `largeBlob` (§10.1.5) is required, false if it is preferred; `nil` if absent.
    public var largeBlobRequired: Bool?
    /// Requested protection of the passkey (CTAP 2.2 §12.1); `nil` if absent.
    public var credentialProtection: CredentialProtection?
    /// True if the passkey must not be created without that protection.
    public var enforcesCredentialProtection = false

    /// Creates a value without extensions.
    public init() {}
}

extension CreationExtensions {
    /// Reads the extensions of a registration; members that are valid in a sign-in only are rejected.
    init(_ json: JSONCursor) throws {
        credentialProperties = try json.memberIfPresent("credProps")?.boolean ?? false
        if let policy = try json.memberIfPresent("credentialProtectionPolicy") {
            // As in browsers: a site that asks for an unknown protection must not get a passkey without one.
            guard let protection = CredentialProtection(policy: try policy.text) else {
                throw OptionsError.invalid(field: policy.path, because: "is none of the standard's policies")
            }
            credentialProtection = protection
        }
        enforcesCredentialProtection = try json.memberIfPresent("enforceCredentialProtectionPolicy")?.boolean ?? false
        if let prf = try json.memberIfPresent("prf") {
            self.prf = PRFInput(salts: try prf.memberIfPresent("eval").map(PRFSalts.init))
            if let map = try prf.memberIfPresent("evalByCredential") {
                throw OptionsError.unsupported(field: map.path, because: "is not valid in a registration")
            }
        }
        if let blob = try json.memberIfPresent("largeBlob") {
            let support = try blob.memberIfPresent("support")?.text ?? ""
            largeBlobRequired = support.utf8.elementsEqual("required".utf8)
            if let member = try blob.memberIfPresent("read") ?? blob.memberIfPresent("write") {
                throw OptionsError.unsupported(field: member.path, because: "is valid in a sign-in only")
            }
        }
    }
}

/// The extensions of a sign-in; unknown ones are ignored.
public struct RequestExtensions: Equatable, Sendable {
    /// Input of `prf` (§10.1.4); `nil` if absent.
    public var prf: PRFInput?
    /// Input of `largeBlob` (§10.1.5); `nil` if absent.
    public var largeBlob: LargeBlobRequest?

    /// Reads the extensions of a sign-in, and checks them against the IDs of `allowCredentials`, also impossible ones.
    init(_ json: JSONCursor?, listed: [[UInt8]]) throws {
        prf = try json?.memberIfPresent("prf").map { try Self.prf($0, listed) }
        largeBlob = try json?.memberIfPresent("largeBlob").flatMap { try Self.largeBlob($0, listed) }
    }

    private static func prf(_ json: JSONCursor, _ listed: [[UInt8]]) throws -> PRFInput {
        var input = PRFInput(salts: try json.memberIfPresent("eval").map(PRFSalts.init))
        guard let map = try json.memberIfPresent("evalByCredential") else { return input }
        let entries = try map.members.map { (key: $0.name, salts: try PRFSalts($0.json)) }
        guard entries.isEmpty || !listed.isEmpty else {
            throw OptionsError.unsupported(field: map.path, because: "requires allowCredentials")
        }
        for (key, salts) in entries {
            guard !key.isEmpty, let bytes = Base64URL.decode(key), listed.contains(bytes) else {
                let reason = "has a key that is not in allowCredentials"
                throw OptionsError.invalid(field: map.path, because: reason, .syntaxError)
            }
            // No phone has a credential with another ID.
            if let id = CredentialID(bytes: bytes) { input.saltsByCredential[id] = salts }
        }
        return input
    }

    private static func largeBlob(_ json: JSONCursor, _ listed: [[UInt8]]) throws -> LargeBlobRequest? {
        if let support = try json.memberIfPresent("support") {
            throw OptionsError.unsupported(field: support.path, because: "is valid in a registration only")
        }
        let read = try json.memberIfPresent("read")?.boolean
        let write = try json.memberIfPresent("write")
        let data = try write?.bytes
        guard let write, let data else { return read == true ? .read : nil }
        guard read == nil else {
            throw OptionsError.unsupported(field: json.path, because: "cannot be read and written at once")
        }
        guard listed.count == 1 else {
            let reason = "requires exactly one entry in allowCredentials"
            throw OptionsError.unsupported(field: write.path, because: reason)
        }
        return .write(data)
    }
}

/// Input of `largeBlob` in a sign-in.
public enum LargeBlobRequest: Equatable, Sendable {
    /// Reads the stored data.
    case read
    /// Replaces the stored data.
    case write([UInt8])

    var ctapInput: LargeBlobInput {
        switch self {
        case .read: .read
        case .write(let bytes): .write(CompressedBlob(bytes: Deflate.stored(bytes), originalSize: bytes.count))
        }
    }
}

extension PRFSalts {
    /// Reads an `AuthenticationExtensionsPRFValues`; a phone receives only hashes of the values (§10.1.4).
    fileprivate init(_ json: JSONCursor) throws {
        let first = PRFSalt(hashing: try json.member("first").bytes)
        self.init(first: first, second: try json.memberIfPresent("second").map { PRFSalt(hashing: try $0.bytes) })
    }
}
