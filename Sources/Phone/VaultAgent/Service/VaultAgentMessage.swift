// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridPrimitives

/// The ID of a vault: 16 bytes.
package struct VaultID: FixedLengthBytes, Hashable, Sendable, CustomStringConvertible {
    /// Length in bytes.
    static let length = 16
    /// The bytes.
    let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    /// Creates an ID from 32 hexadecimal digits; `nil` for any other text.
    package init?(_ text: String) {
        guard let bytes = Hex.decode(text, length: Self.length) else { return nil }
        self.init(bytes: bytes)
    }

    /// 32 hexadecimal digits.
    package var description: String { Hex.encode(bytes) }
}

/// A vault whose key the agent holds.
package struct HeldVault: Hashable, Sendable {
    /// The vault.
    package let vault: VaultID
    /// The seconds until the PIN is needed again.
    package let secondsLeft: UInt32
}

/// The state of the agent.
package struct VaultAgentStatus: Hashable, Sendable {
    /// The vaults whose keys are held.
    package let held: [HeldVault]
    /// The number of fingers that did not match since the last match or PIN.
    package let misses: Int
}

/// The frames of the agent's protocol: length (2, big-endian) ‖ type (1) ‖ body; the length counts type and body.
enum VaultAgentFrame {
    /// Length of the length field in bytes.
    static let headerLength = 2
    /// Maximum length of type and body in bytes.
    static let maximumLength = 4096

    /// Returns a frame of a type and a body.
    static func frame(_ type: UInt8, _ body: [UInt8] = []) -> [UInt8] {
        let length = 1 + body.count
        return [UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length), type] + body
    }
}

/// A request of a client; each connection carries one.
enum VaultAgentRequest: Sendable {
    /// Holds the key of a vault.
    case hold(VaultID, LockedMemory, isTest: Bool, fingers: [String])
    /// Releases the key of a vault after a match of a finger.
    case release(VaultID)
    /// Reports the state.
    case status
    /// Discards the key of a vault.
    case forget(VaultID)

    /// Types of requests.
    enum Kind: UInt8 {
        case hold = 1
        case release = 2
        case status = 3
        case forget = 4
    }

    /// Parses type and body.
    ///
    /// - Throws: ``FingerprintFailure/malformed``, or ``FingerprintFailure/memoryNotLocked`` if the key has no memory.
    init(_ bytes: UnsafeRawBufferPointer) throws(FingerprintFailure) {
        guard bytes.count <= VaultAgentFrame.maximumLength, let kind = bytes.first.flatMap(Kind.init(rawValue:)) else {
            throw .malformed
        }
        var rest = bytes.dropFirst()
        func take(_ count: Int) throws(FingerprintFailure) -> Slice<UnsafeRawBufferPointer> {
            guard rest.count >= count else { throw .malformed }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        func takeVault() throws(FingerprintFailure) -> VaultID {
            guard let vault = VaultID(bytes: try take(VaultID.length)) else { throw .malformed }
            return vault
        }
        switch kind {
        case .status: self = .status
        case .release: self = .release(try takeVault())
        case .forget: self = .forget(try takeVault())
        case .hold:
            let vault = try takeVault()
            guard let flag = try take(1).first, flag <= 1 else { throw .malformed }
            let key = try LockedMemory(copying: UnsafeRawBufferPointer(rebasing: try take(StoreKey.length)))
            var names: [String] = []
            let count = try take(1).first ?? 0
            for _ in 0..<count {
                let length = try take(1).first ?? 0
                guard let name = String(validating: try take(Int(length)), as: UTF8.self) else { throw .malformed }
                names.append(name)
            }
            guard FingerList.isValid(names) else { throw .malformed }
            self = .hold(vault, key, isTest: flag == 1, fingers: names)
        }
        guard rest.isEmpty else { throw .malformed }
    }

    /// Returns the frame of a request without a secret.
    static func frame(_ kind: Kind, _ vault: VaultID? = nil) -> SecretBytes {
        VaultAgentFrame.frame(kind.rawValue, vault?.bytes ?? []).withUnsafeBytes { SecretBytes(copying: $0) }
    }

    /// Returns the frame of a request that holds a key.
    ///
    /// - Parameters:
    ///   - vault: The vault.
    ///   - key: The vault key, 32 bytes.
    ///   - isTest: True for a test vault.
    ///   - fingers: A valid list of fingers.
    static func holdFrame(
        _ vault: VaultID,
        key: UnsafeRawBufferPointer,
        isTest: Bool,
        fingers: [String]
    ) -> SecretBytes {
        let names = fingers.flatMap { [UInt8(truncatingIfNeeded: $0.utf8.count)] + Array($0.utf8) }
        let tail = [UInt8(truncatingIfNeeded: fingers.count)] + names
        let front = vault.bytes + [isTest ? 1 : 0]
        let blank = [UInt8](repeating: 0, count: StoreKey.length)
        let frame = VaultAgentFrame.frame(Kind.hold.rawValue, front + blank + tail)
        let bytes = frame.withUnsafeBytes { SecretBytes(copying: $0) }
        let start = VaultAgentFrame.headerLength + 1 + front.count
        UnsafeMutableRawBufferPointer(rebasing: bytes.memory[start..<(start + StoreKey.length)])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: key.prefix(StoreKey.length)))
        return bytes
    }
}

/// A message of the agent; progress may precede the last one.
enum VaultAgentReply: Sendable {
    /// Success without a value.
    case done
    /// The vault key.
    case key(StoreKey)
    /// Progress of a verification.
    case progress(FingerprintEvent)
    /// The state.
    case status(VaultAgentStatus)
    /// A failure.
    case failed(FingerprintFailure)

    private enum Kind: UInt8 {
        case done = 0x80
        case key = 0x81
        case progress = 0x82
        case status = 0x83
        case failed = 0xFF
    }

    /// Parses type and body; `nil` if they are malformed.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count <= VaultAgentFrame.maximumLength, let kind = bytes.first.flatMap(Kind.init(rawValue:)) else {
            return nil
        }
        let body = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
        switch kind {
        case .done:
            guard body.isEmpty else { return nil }
            self = .done
        case .key:
            guard let key = StoreKey(bytes: body) else { return nil }
            self = .key(key)
        case .progress:
            guard body.count == 1, let event = FingerprintEvent(rawValue: body[0]) else { return nil }
            self = .progress(event)
        case .status:
            guard let status = Self.status(body) else { return nil }
            self = .status(status)
        case .failed:
            guard body.count == 1, let failure = FingerprintFailure(rawValue: body[0]) else { return nil }
            self = .failed(failure)
        }
    }

    private static func status(_ body: UnsafeRawBufferPointer) -> VaultAgentStatus? {
        let length = VaultID.length + 4
        guard body.count >= 2, body.count == 2 + Int(body[1]) * length else { return nil }
        let held = (0..<Int(body[1])).compactMap { index -> HeldVault? in
            let entry = body[(2 + index * length)...].prefix(length)
            guard let vault = VaultID(bytes: entry.prefix(VaultID.length)) else { return nil }
            return HeldVault(vault: vault, secondsLeft: entry.suffix(4).reduce(0) { $0 << 8 | UInt32($1) })
        }
        return VaultAgentStatus(held: held, misses: Int(body[0]))
    }

    /// The frame, which may contain a key.
    var frame: SecretBytes {
        func plain(_ kind: Kind, _ body: [UInt8] = []) -> SecretBytes {
            VaultAgentFrame.frame(kind.rawValue, body).withUnsafeBytes { SecretBytes(copying: $0) }
        }
        switch self {
        case .done: return plain(.done)
        case .progress(let event): return plain(.progress, [event.rawValue])
        case .failed(let failure): return plain(.failed, [failure.rawValue])
        case .status(let status):
            let held = status.held.prefix(KeyCustody.maximumKeys)
            let entries = held.flatMap { held in
                held.vault.bytes + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: held.secondsLeft >> $0) }
            }
            return plain(.status, [UInt8(clamping: status.misses), UInt8(held.count)] + entries)
        case .key(let key):
            let frame = plain(.key, [UInt8](repeating: 0, count: StoreKey.length))
            let body = UnsafeMutableRawBufferPointer(rebasing: frame.memory[(VaultAgentFrame.headerLength + 1)...])
            key.withUnsafeBytes { body.copyMemory(from: $0) }
            return frame
        }
    }
}
