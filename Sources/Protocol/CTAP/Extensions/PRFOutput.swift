// SPDX-License-Identifier: Apache-2.0

public import Crypto
public import HybridCBOR
public import HybridPrimitives

/// Output of the `prf` extension, part of the unsigned extension outputs.
public struct PRFOutput: Equatable, Sendable, SecretMaterial {
    /// True if the new credential supports `prf`; `nil` in a sign-in.
    public var isEnabled: Bool?
    /// Result for the first salt; `nil` if no salt was given.
    public var first: PRFResult?
    /// Result for the second salt; `nil` if no second salt was given.
    public var second: PRFResult?

    /// Creates an output from its parts.
    public init(isEnabled: Bool? = nil, first: PRFResult? = nil, second: PRFResult? = nil) {
        self.isEnabled = isEnabled
        self.first = first
        self.second = second
    }

    /// Creates an output from unsigned extension outputs; `nil` if they do not contain it.
    ///
    /// - Throws: ``CTAPResponseError`` if a member has the wrong type, or a result is not 32 bytes long.
    public init?(unsignedOutputs outputs: CBORMap?) throws(CTAPResponseError) {
        let outputs = FieldReader<CTAPResponseError>(outputs ?? [:])
        guard let fields = try outputs.optionalNested(PRFInput.name, "prf") else { return nil }
        isEnabled = try fields.optional("enabled", "enabled", as: \.boolean)
        guard let results = try fields.optionalNested("results", "results") else { return }
        first = try results.bytes("first", "first", as: PRFResult.init(bytes:))
        second = try results.optionalBytes("second", "second", as: PRFResult.init(bytes:))
    }

    /// Unsigned extension outputs that contain this output.
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

/// Result for one salt: 32 secret bytes that websites use as a key.
///
/// The bytes are wiped on release and compared in constant time.
public struct PRFResult: FixedLengthBytes, Equatable, Sendable, SecretMaterial {
    /// Length in bytes.
    public static let length = 32

    private let key: SymmetricKey

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { key = SymmetricKey(data: Array(bytes)) }

    /// Creates a result from the output of `hmac-secret` (CTAP 2.3 §12.7).
    public init(_ code: HMAC<SHA256>.MAC) { key = SymmetricKey(data: code) }

    /// A copy of the secret bytes, which is not wiped.
    public var bytes: [UInt8] { key.withUnsafeBytes { Array($0) } }
}
