// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import HybridSecurityKey
import TestSupport
import Testing

@Suite("The memory of local credentials")
struct MemoryTests {
    private let key: InstallationKey
    private let ssh: RelyingPartyID
    private let work: RelyingPartyID

    init() throws {
        key = try SampleKey.installationKey()
        ssh = try #require(RelyingPartyID("ssh:", accepting: [.ssh]))
        work = try #require(RelyingPartyID("ssh:work", accepting: [.ssh]))
    }

    private func id(_ bytes: [UInt8]) throws -> CredentialID { try #require(CredentialID(bytes: bytes)) }

    @Test("a noted credential is known, for its relying party and with its key only")
    func note() throws {
        var memory = CredentialMemory()
        #expect(memory.note(try id([1]), of: ssh, key: key))
        #expect(!memory.note(try id([1]), of: ssh, key: key))
        #expect(memory.count == 1)
        #expect(memory.contains(try id([1]), of: ssh, key: key))
        #expect(!memory.contains(try id([2]), of: ssh, key: key))
        #expect(!memory.contains(try id([1]), of: work, key: key))
        let other = try #require(InstallationKey(bytes: [UInt8](repeating: 8, count: 32)))
        #expect(!memory.contains(try id([1]), of: ssh, key: other))
    }

    /// Computed with Python: `hmac.new(b"\x09" * 32, b"\0\4ssh:\0\1\1", "sha256")`.
    @Test("an entry is the HMAC of both names with their lengths")
    func vector() throws {
        var memory = CredentialMemory()
        _ = memory.note(try id([1]), of: ssh, key: key)
        let code = try #require(Hexadecimal.bytes(Self.code))
        #expect(memory.encoded == [0xA2, 0x01, 0x01, 0x02, 0x81, 0x58, 0x20] + code)
    }

    private static let code = "57c22e269345ad93b62797c7335c41dc3608794a4eb08822f35e44dc3c598fa3"

    @Test("the file survives the round trip")
    func roundTrip() throws {
        var memory = CredentialMemory()
        #expect(try CredentialMemory(parsing: memory.encoded) == memory)
        for byte in 0..<20 as Range<UInt8> { _ = memory.note(try id([byte]), of: work, key: key) }
        let read = try CredentialMemory(parsing: memory.encoded)
        #expect(read == memory && read.count == 20)
        #expect(read.contains(try id([19]), of: work, key: key))
    }

    @Test("the oldest entry is replaced when the memory is full")
    func bounded() throws {
        var memory = CredentialMemory()
        for number in 0...1024 {
            _ = memory.note(try id([UInt8(number >> 8), UInt8(number & 0xFF)]), of: ssh, key: key)
        }
        #expect(memory.count == 1024)
        #expect(!memory.contains(try id([0, 0]), of: ssh, key: key))
        #expect(memory.contains(try id([0, 1]), of: ssh, key: key))
        #expect(memory.contains(try id([4, 0]), of: ssh, key: key))
        #expect(try CredentialMemory(parsing: memory.encoded) == memory)
    }

    @Test("other files are refused")
    func malformed() throws {
        func refusal(_ value: CBORValue) -> CredentialMemoryError? {
            do throws(CredentialMemoryError) {
                _ = try CredentialMemory(parsing: CBOREncoder.encode(value))
                return nil
            } catch {
                return error
            }
        }
        let code = CBORValue.bytes([UInt8](repeating: 1, count: 32))
        #expect(refusal([1: 1, 2: [code]]) == nil)
        #expect(refusal([1: 2, 2: [code]]) == .unknownVersion)
        for value in [
            [], [1: 1], [2: []], [1: 1, 2: [], 3: 1], [1: 1, 2: [.bytes([1])]], [1: 1, 2: [code, code]],
            [1: 1, 2: [1]], [1: 1, 2: code],
        ] as [CBORValue] { #expect(refusal(value) == .malformed) }
        let many = (0...1024).map { number in
            CBORValue.bytes([UInt8(number >> 8), UInt8(number & 255)] + [UInt8](repeating: 0, count: 30))
        }
        #expect(refusal([1: 1, 2: .array(many)]) == .malformed)
        let bytes = CBOREncoder.encode([1: 1, 2: [code]] as CBORValue)
        for damaged in Damage.truncations(of: bytes) {
            #expect(throws: CredentialMemoryError.self) { try CredentialMemory(parsing: damaged) }
        }
        for damaged in Damage.bitFlips(of: bytes) {
            if let memory = try? CredentialMemory(parsing: damaged) { #expect(memory.encoded == damaged) }
        }
    }

    @Test("the installation key has 32 bytes and is not printed")
    func installationKey() {
        #expect(InstallationKey(bytes: [UInt8](repeating: 9, count: 31)) == nil)
        #expect(String(describing: key) == "InstallationKey(hidden)")
        #expect(String(reflecting: key) == "InstallationKey(hidden)")
    }

    @Test("local credentials are noted when they are created and used, those of websites are not")
    func noted() throws {
        for (name, isLocal) in [("ssh:", true), ("pam://host", true), ("example.com", false)] {
            for (command, body) in [
                (SampleKey.creation(name), try Phone.created(name).encoded),
                (SampleKey.assertion(name, [[1]]), try Phone.signed(name).encoded),
            ] {
                var fixture = try KeyFixture()
                #expect(try fixture.send(command) == nil)
                #expect(try fixture.answer(.success(body))?.status == .success)
                #expect(fixture.key.actions.contains(.memoryChanged) == isLocal)
                #expect(fixture.key.key.memory.count == (isLocal ? 1 : 0))
                #expect(try fixture.send(command) == nil)
                #expect(try fixture.answer(.success(body))?.status == .success)
                #expect(fixture.key.actions.filter { $0 == .memoryChanged }.count == (isLocal ? 1 : 0))
            }
        }
    }

    @Test("a failed request leaves the memory unchanged")
    func failed() throws {
        var fixture = try KeyFixture()
        #expect(try fixture.send(SampleKey.creation("ssh:")) == nil)
        _ = try fixture.answer(.success(Phone.created("example.com").encoded))
        #expect(fixture.key.key.memory.count == 0)
    }
}
