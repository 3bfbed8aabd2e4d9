// SPDX-License-Identifier: Apache-2.0

public import CBOR

/// What the `prf` extension answers; it goes into the unsigned extension outputs.
public struct PRFOutput: Equatable, Sendable {
    /// Whether the new credential can do it; `nil` in a sign-in, where it is not said.
    public var isEnabled: Bool?
    /// The answer to the first salt, 32 bytes; `nil` if no salt was given.
    public var first: [UInt8]?
    /// The answer to the second salt, 32 bytes.
    public var second: [UInt8]?

    /// An output from its parts.
    public init(isEnabled: Bool? = nil, first: [UInt8]? = nil, second: [UInt8]? = nil) {
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
            let results = try PRFSalts(fields.nested("results", "results"))
            (first, second) = (results.first.bytes, results.second?.bytes)
        } catch {
            throw CTAPResponseError(error)
        }
    }

    /// The unsigned extension outputs with this one in them.
    public var unsignedExtensionOutputs: CBORMap {
        var members = CBORMap()
        if let isEnabled { members["enabled"] = .boolean(isEnabled) }
        if let first {
            var results: CBORMap = ["first": .bytes(first)]
            if let second { results["second"] = .bytes(second) }
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
