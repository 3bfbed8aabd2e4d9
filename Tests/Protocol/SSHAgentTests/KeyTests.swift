// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import SSHTestSupport
import TestSupport
import Testing

@testable import HybridSSHAgent

@Suite("Keys")
struct KeyTests {
    let recording: Recording

    init() throws { recording = try Recording() }

    @Test("The recorded key has the parts, the line and the fingerprint that OpenSSH shows")
    func recordedKey() throws {
        let json = try recording.json.value("key")
        let key = recording.key
        #expect(key.encoded == (try json.hex("blob")))
        #expect(key.x963Representation == (try json.hex("point")))
        #expect(key.application.description == (try json.text("application")))
        #expect(key.fingerprint.description == (try json.text("fingerprint")))
        #expect(key.authorizedKeysLine(comment: SSHKeyComment("phone")) == (try json.text("line")))
        for message in try recording.json.list("messages") {
            let namespace = try #require(SignatureNamespace(try message.text("namespace")))
            let principal = try #require(SignerPrincipal("ada@example.org"))
            let line = key.allowedSignersLine(principal: principal, namespace: namespace)
            #expect(line == (try message.text("allowedSigners")))
        }
    }

    @Test("A damaged key is rejected or is another key")
    func damagedKey() throws {
        let blob = recording.key.encoded
        for damaged in Damage.truncations(of: blob) {
            #expect(throws: SSHFormatError.self) { try SSHPublicKey(parsing: damaged) }
        }
        for damaged in Damage.bitFlips(of: blob) {
            #expect((try? SSHPublicKey(parsing: damaged))?.encoded ?? damaged == damaged)
            #expect((try? SSHPublicKey(parsing: damaged)) != recording.key)
        }
        #expect(throws: SSHFormatError.trailingBytes) { try SSHPublicKey(parsing: blob + [0]) }
    }

    @Test("A key of another type, curve or application is rejected")
    func otherKeys() {
        let point = recording.key.x963Representation
        func parse(
            type: String = "sk-ecdsa-sha2-nistp256@openssh.com",
            curve: String = "nistp256",
            point: [UInt8],
            application: String = "ssh:"
        ) throws(SSHFormatError) -> SSHPublicKey {
            let blob = Wire.string(type) + Wire.string(curve) + Wire.string(point) + Wire.string(application)
            return try SSHPublicKey(parsing: blob)
        }
        #expect(throws: Never.self) { try parse(point: point) }
        for type in [
            "sk-ssh-ed25519@openssh.com", "webauthn-sk-ecdsa-sha2-nistp256@openssh.com", "ecdsa-sha2-nistp256",
        ] {
            #expect(throws: SSHFormatError.keyType) { try parse(type: type, point: point) }
        }
        #expect(throws: SSHFormatError.curve) { try parse(curve: "nistp384", point: point) }
        #expect(throws: SSHFormatError.publicKey) { try parse(point: Array(point.dropLast())) }
        #expect(throws: SSHFormatError.publicKey) { try parse(point: [4] + [UInt8](repeating: 1, count: 64)) }
        #expect(throws: SSHFormatError.application) { try parse(point: point, application: "a b") }
    }

    @Test(
        "Applications are domains and names of SSH",
        arguments: [
            ("ssh:", true), ("ssh:my_Key-1.2", true), ("example.org", true), ("a1b2.invalid", true),
            ("localhost", true),
            ("", false), ("ssh", true), ("ssh:a b", false), ("Example.org", false), ("example.org.", false),
            (".example.org", false), ("a..b", false), ("-a.org", false), ("a-.org", false), ("https://a.org", false),
            ("a.org\n", false), ("é.org", false), ("pam://host", false),
            ("ssh:" + String(repeating: "x", count: 200), true), ("ssh:" + String(repeating: "x", count: 201), false),
            (String(repeating: "x", count: 64) + ".org", false),
            (String(repeating: "a.", count: 126) + "a", true), (String(repeating: "a.", count: 127) + "a", false),
        ]
    )
    func applications(text: String, isValid: Bool) {
        #expect((SSHApplication(text) != nil) == isValid)
    }

    @Test("Texts that stand in files are one plain line")
    func texts() {
        for text in ["ada@laptop", "my phone", "Telefon für alles", "電話"] {
            #expect(SSHKeyComment(text) != nil, "\(text)")
        }
        for text in [
            "", " a", "a ", "a\nb", "a\tb", "a\u{202E}b", "a\u{2028}b", "a\u{200B}b", "a\0b",
            String(repeating: "a", count: 256),
        ] {
            #expect(SSHKeyComment(text) == nil, "\(text.debugDescription)")
        }
        for text in ["git", "file", "name@example.org", "a/b:c"] { #expect(SignatureNamespace(text) != nil, "\(text)") }
        for text in ["", "a b", "a\"", "a,b", "*", "é", "a\0"] { #expect(SignatureNamespace(text) == nil, "\(text)") }
        for text in ["", "a b", "*", "!a", "a,b", "\"a\"", "#a", "a?"] {
            #expect(SignerPrincipal(text) == nil, "\(text)")
        }
        let digits = String(repeating: "A", count: 43)
        #expect(SSHFingerprint("SHA256:\(digits)")?.description == "SHA256:\(digits)")
        for text in [digits, "MD5:\(digits)", "SHA256:\(digits)=", "SHA256:\(digits.dropLast())-"] {
            #expect(SSHFingerprint(text) == nil, "\(text)")
        }
    }
}

@Suite("Host keys")
struct HostKeyTests {
    @Test("Recorded host keys verify their bindings and have the fingerprints of ssh-keygen")
    func recordedHostKeys() throws {
        let logins = try Recording().logins
        #expect(logins.count == 11)
        for login in logins {
            let request = try Self.binding(login.bindings[0])
            let key = request.binding.hostKey
            #expect(key.fingerprint.description == (try login.json.text("hostFingerprint")), "\(login)")
            #expect(key.isCertificate == (try login.json.boolean("isCertificate")), "\(login)")
            #expect(try key.isValid(request.signature, for: request.binding.sessionID), "\(login)")
            let other = try SSHSessionID(bytes: request.binding.sessionID.bytes.reversed())
            #expect(try !key.isValid(request.signature, for: other), "\(login)")
            #expect(throws: SSHFormatError.trailingBytes) { try HostKey(parsing: key.encoded + [0]) }
        }
    }

    @Test("A signature of a host with one flipped bit is rejected")
    func flippedSignatures() throws {
        for login in try Recording().logins {
            let request = try Self.binding(login.bindings[0])
            for damaged in Damage.someBitFlips(of: request.signature) {
                let isValid = (try? request.binding.hostKey.isValid(damaged, for: request.binding.sessionID)) ?? false
                #expect(!isValid, "\(login)")
            }
            for damaged in Damage.truncations(of: request.signature) {
                let isValid = (try? request.binding.hostKey.isValid(damaged, for: request.binding.sessionID)) ?? false
                #expect(!isValid, "\(login)")
            }
        }
    }

    @Test("A truncated or altered host key does not verify the binding")
    func damagedHostKeys() throws {
        for login in try Recording().logins {
            let request = try Self.binding(login.bindings[0])
            let key = request.binding.hostKey
            for damaged in Damage.truncations(of: key.encoded) {
                #expect(throws: SSHFormatError.self) { try HostKey(parsing: damaged) }
            }
            for damaged in Damage.someBitFlips(of: key.encoded) {
                guard let other = try? HostKey(parsing: damaged) else { continue }
                #expect(other != key, "\(login)")
                // A certificate contains more than the key.
                guard other.fingerprint != key.fingerprint else { continue }
                #expect((try? other.isValid(request.signature, for: request.binding.sessionID)) != true, "\(login)")
            }
        }
    }

    @Test("RSA signatures with SHA-1, and algorithms of other keys, are rejected")
    func otherAlgorithms() throws {
        for login in try Recording().logins {
            let request = try Self.binding(login.bindings[0])
            let value = try Wire.strings(request.signature[...], count: 2)[1]
            let own = String(decoding: try Wire.strings(request.signature[...], count: 1)[0], as: UTF8.self)
            for name in ["ssh-rsa", "rsa-sha2-256", "rsa-sha2-512", "ssh-ed25519", "ecdsa-sha2-nistp256", "none"]
            where name != own {
                let signature = Wire.string(name) + Wire.string(value)
                let isValid = (try? request.binding.hostKey.isValid(signature, for: request.binding.sessionID)) ?? false
                #expect(!isValid, "\(login) as \(name)")
            }
        }
    }

    @Test("A user certificate, an RSA key that OpenSSH refuses and unknown types are no host keys")
    func otherTypes() throws {
        let login = try #require(try Recording().logins.first { "\($0)".hasPrefix("ssh-ed25519-cert") })
        let certificate = try Self.binding(login.bindings[0]).binding.hostKey.encoded
        // string type, nonce and key, then a serial number of 8 bytes.
        let parts = try Wire.strings(certificate[...], count: 3)
        let type = parts.reduce(0) { $0 + 4 + $1.count } + 8 + 3
        var user = certificate
        #expect(user[type] == 2)
        user[type] = 1
        #expect(throws: SSHFormatError.certificate) { try HostKey(parsing: user) }

        let weak =
            Wire.string("ssh-rsa") + Wire.string([1, 0, 1]) + Wire.string([0] + [UInt8](repeating: 0xC5, count: 127))
        #expect(throws: SSHFormatError.publicKey) { try HostKey(parsing: weak) }
        let huge =
            Wire.string("ssh-rsa") + Wire.string([1, 0, 1]) + Wire.string([0] + [UInt8](repeating: 0xC5, count: 2048))
        #expect(throws: SSHFormatError.publicKey) { try HostKey(parsing: huge) }
        let negative =
            Wire.string("ssh-rsa") + Wire.string([1, 0, 1]) + Wire.string([UInt8](repeating: 0xC5, count: 256))
        #expect(throws: SSHFormatError.integer) { try HostKey(parsing: negative) }
        for name in ["ssh-dss", "sk-ssh-ed25519@openssh.com", "ecdsa-sha2-nistp192", "", "-cert-v01@openssh.com"] {
            let blob = Wire.string(name) + Wire.string([UInt8](repeating: 1, count: 32))
            #expect(throws: SSHFormatError.keyType) { try HostKey(parsing: blob) }
        }
        let mixed = Wire.string("ecdsa-sha2-nistp256") + Wire.string("nistp384") + Wire.string([4])
        #expect(throws: SSHFormatError.curve) { try HostKey(parsing: mixed) }
    }

    @Test(
        "RSA keys of 1,024 bits and more verify bindings; those below 2,048 bits are weak",
        arguments: [1024, 1536, 2040, 2048]
    )
    func rsaSizes(bits: Int) throws {
        let key = try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: bits))
        let numbers = try key.publicKey.getKeyPrimitives()
        func integer(_ bytes: [UInt8]) -> [UInt8] { Wire.string(bytes[0] >= 0x80 ? [0] + bytes : bytes) }
        let blob =
            Wire.string("ssh-rsa") + integer(Array(numbers.publicExponent)) + integer(Array(numbers.modulus))
        let hostKey = try HostKey(parsing: blob)
        #expect(hostKey.isWeak == (bits < 2048))
        let session = try SSHSessionID(bytes: TestServer.session(1))
        let value = try key.signature(for: SHA512.hash(data: session.bytes), padding: .insecurePKCS1v1_5)
        let signature = Wire.string("rsa-sha2-512") + Wire.string(Array(value.rawRepresentation))
        #expect(try hostKey.isValid(signature, for: session))
        #expect(try !hostKey.isValid(signature, for: SSHSessionID(bytes: TestServer.session(2))))
    }

    @Test("RSA moduli have 1,024 to 8,192 bits, counted from the first bit that is set")
    func rsaBounds() throws {
        func hostKey(bits: Int) throws -> HostKey {
            var modulus = [UInt8](repeating: 0xC5, count: (bits + 7) / 8)
            modulus[0] = UInt8(1 << ((bits - 1) % 8)) | 1
            let number = modulus[0] >= 0x80 ? [0] + modulus : modulus
            return try HostKey(parsing: Wire.string("ssh-rsa") + Wire.string([1, 0, 1]) + Wire.string(number))
        }
        for bits in [1024, 1025, 2047] { #expect(try hostKey(bits: bits).isWeak, "\(bits)") }
        for bits in [2048, 2049, 8191, 8192] { #expect(try !hostKey(bits: bits).isWeak, "\(bits)") }
        for bits in [1023, 8193, 8200, 16_384] {
            #expect(throws: SSHFormatError.publicKey, "\(bits)") { try hostKey(bits: bits) }
        }
    }

    @Test("A binding with a host key that can't be verified is refused with that reason")
    func unsupportedHostKey() throws {
        let huge =
            Wire.string("ssh-rsa") + Wire.string([1, 0, 1]) + Wire.string([0] + [UInt8](repeating: 0xC5, count: 2048))
        let contents = Wire.string(huge) + Wire.string(TestServer.session(1)) + Wire.string([1]) + [0]
        var (client, state) = (TestClient(), AgentState(keys: []))
        let action = try client.send([27] + Wire.string("session-bind@openssh.com") + contents, to: &state)
        #expect(action.refusal == .binding(.hostKey))
        #expect(action.refusal?.explanation.contains("8,192 bits") == true)
    }

    @Test("Session identifiers have 20 to 64 bytes")
    func sessionIDs() {
        for count in [20, 32, 64] {
            #expect(throws: Never.self) { try SSHSessionID(bytes: [UInt8](repeating: 1, count: count)) }
        }
        for count in [0, 19, 65] {
            #expect(throws: SSHFormatError.sessionID) { try SSHSessionID(bytes: [UInt8](repeating: 1, count: count)) }
        }
    }

    static func binding(_ message: [UInt8]) throws -> SessionBindRequest {
        guard case .bindSession(let request) = AgentRequest(parsing: message) else { throw SSHFormatError.truncated }
        return request
    }
}
