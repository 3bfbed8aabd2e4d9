// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridProgram
internal import HybridSecurityKey

/// The facts that the key knows about its computer: files that other processes may change, and other FIDO devices.
struct SecurityKeyState {
    /// The time for which the list of devices is not read again.
    private static let deviceInterval = Duration.seconds(1)

    /// The remembered credentials.
    let memories: CredentialMemoryStore
    /// The journal.
    let journal: Journal
    private let sshKeys: SSHKeyStore
    private let otherKeyExists: @Sendable () -> Bool
    private let report: @Sendable (String) -> Void
    /// The stamps of the files as they were read; `nil` before.
    private var memoryStamp: StateFolder.Stamp??
    private var sshStamp: StateFolder.Stamp??
    private var lastDevices: Duration?

    /// Creates the state of a folder.
    ///
    /// - Parameters:
    ///   - folder: The folder with memory, SSH keys and journal.
    ///   - otherKeyExists: Returns true if there is a FIDO device that is not virtual.
    ///   - report: Receives a sentence each time that a changed file can't be read or written.
    init(
        in folder: StateFolder,
        otherKeyExists: @escaping @Sendable () -> Bool,
        report: @escaping @Sendable (String) -> Void
    ) {
        memories = CredentialMemoryStore(in: folder)
        journal = Journal(in: folder)
        sshKeys = SSHKeyStore(in: folder)
        self.otherKeyExists = otherKeyExists
        self.report = report
    }

    /// Passes on what has changed; if a file can't be read, the previous contents remain in force.
    mutating func refresh(_ key: inout SecurityKey, at now: Duration) {
        if lastDevices.map({ now - $0 >= Self.deviceInterval }) ?? true {
            lastDevices = now
            key.otherKeyExists = otherKeyExists()
        }
        do throws(CommandFailure) {
            try read(&key)
        } catch {
            report(error.sentence)
        }
    }

    /// Reads the files that have changed; a file that can't be read is not read again before its next change.
    mutating func read(_ key: inout SecurityKey) throws(CommandFailure) {
        let (memory, keys) = (memories.stamp, sshKeys.stamp)
        if memoryStamp != .some(memory) {
            memoryStamp = .some(memory)
            key.memory = try memories.memory()
        }
        if sshStamp != .some(keys) {
            sshStamp = .some(keys)
            key.agentRelyingParties = Set(try sshKeys.keys().map(\.relyingPartyID))
        }
    }

    /// Saves the memory.
    mutating func save(_ memory: CredentialMemory) {
        do throws(CommandFailure) {
            try memories.save(memory)
            memoryStamp = .some(memories.stamp)
        } catch {
            report(error.sentence)
        }
    }
}
