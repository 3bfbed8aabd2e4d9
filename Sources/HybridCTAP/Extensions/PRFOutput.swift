// SPDX-License-Identifier: Apache-2.0

public import Crypto
public import HybridCBOR

/// What the `prf` extension answers; it goes into the unsigned extension outputs.
public struct PRFOutput: Equatable, Sendable {
    /// Whether the new credential can do it; `nil` in a sign-in, where it is not said.
    public var isEnabled: Bool?
    /// The answer to the first salt; `nil` if no salt was given.
    public var first: PRFResult?
    /// The answer to the second salt.
    public var second: PRFResult?

    /// An output from its parts.
    public init(isEnabled: Bool? = nil, first: PRFResult? = nil, second: PRFResult? = nil) {
        self.isEnabled = isEnabled
        self.first = first
        self.second = second
    }

    /// Reads the member of an answer's unsigned extension outputs; `nil` if there is none.
    ///
    /// - Throws: ``CTAPResponseError`` if a member is of another type, or a result is not 32 bytes long.
    public init?(unsignedOutputs outputs: CBORMap?) throws(CTAPResponseError) {
        guard outputs?[PRFInput.name] != nil else { return nil }
        do throws(FieldError) {
            let fields = try FieldReader(outputs ?? [:]).nested(PRFInput.name, "prf")
            isEnabled = try fields.optional("enabled", "enabled", as: \.boolean)
            guard try fields.optional("results", "results", as: \.map) != nil else { return }
            let results = try fields.nested("results", "results")
            first = try results.bytes("first", "first", as: PRFResult.init(bytes:))
            guard try results.optional("second", "second", as: \.bytes) != nil else { return }
            second = try results.bytes("second", "second", as: PRFResult.init(bytes:))
        } catch {
            throw CTAPResponseError(error)
        }
    }

    /// The unsigned extension outputs with this one in them.
    public var unsignedExtensionOutputs: CBORMap {
        var members = CBORMap()
        if let isEnabled { members["enabled"] = .boolean(isEnabled) }
        if let first {
            var results: CBORMap = ["first": .bytes(first.bytes)]
            if let second { results["second"] = .bytes(second.bytes) }
            members["results"] = .map(results)
        }
        return [PRFInput.name: .map(members)]
    }
}

extension PRFOutput: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type's name only.
    public var description: String { "PRFOutput(hidden)" }
    /// The type's name only.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The answer to one salt: 32 bytes that are a key to the website's data.
///
/// Wiped on release, compared in constant time,
/// never printed.
public struct PRFResult: Equatable, Sendable {
    /// Length in bytes.
    public static let length = 32

    private let key: SymmetricKey

    /// Takes exactly 32 bytes; anything else is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.length else { return nil }
        key = SymmetricKey(data: Array(bytes))
    }

    /// Takes what `hmac-secret` answers (CTAP 2.3 §12.7).
    public init(_ code: HMAC<SHA256>.MAC) { key = SymmetricKey(data: code) }

    /// A copy, which is as secret and is not wiped.
    public var bytes: [UInt8] { key.withUnsafeBytes { Array($0) } }
}

extension PRFResult: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type's name only.
    public var description: String { "PRFResult(hidden)" }
    /// The type's name only.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
