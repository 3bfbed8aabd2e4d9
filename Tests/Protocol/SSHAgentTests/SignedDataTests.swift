// SPDX-License-Identifier: Apache-2.0

import SSHTestSupport
import TestSupport
import Testing

@testable import HybridSSHAgent

@Suite("Data that may be signed")
struct SignedDataTests {
    let passkey: TestPasskey
    let key: SSHPublicKey
    let server = TestServer()

    init() throws {
        passkey = try TestPasskey()
        key = try passkey.publicKey
    }

    private func parse(_ bytes: [UInt8]) throws(SignedDataError) -> SignedData {
        try SignedData(parsing: bytes, for: key)
    }

    @Test("Recorded logins name user, session and host key")
    func recordedLogins() throws {
        let recording = try Recording()
        for login in try recording.logins {
            let assertion = try Assertion(login.json.value("assertion"))
            let data = try SignedData(parsing: assertion.data, for: recording.key)
            guard case .login(let fields) = data.content else {
                Issue.record("\(login) is a login")
                continue
            }
            let binding = try HostKeyTests.binding(login.bindings[0]).binding
            #expect(fields.user.description == (try login.json.text("user")))
            #expect(fields.sessionID == binding.sessionID)
            #expect(fields.hostKey == binding.hostKey, "\(login): a certificate stands in both")
            try expectAllDamageRefused(assertion.data, for: recording.key)
        }
        let unbound = try Assertion(recording.json.value("unbound").value("assertion"))
        let data = try SignedData(parsing: unbound.data, for: recording.key)
        guard case .login(let fields) = data.content else { throw SignedDataError.method }
        #expect(fields.hostKey == nil)
    }

    @Test("Recorded messages name namespace and hash")
    func recordedMessages() throws {
        let recording = try Recording()
        for json in try recording.json.list("messages") {
            let assertion = try Assertion(json.value("assertion"))
            let data = try SignedData(parsing: assertion.data, for: recording.key)
            guard case .message(let message) = data.content else { throw SignedDataError.unrecognized }
            #expect(message.namespace.description == (try json.text("namespace")))
            switch message.hash {
            case .sha256(let hash): #expect(hash.count == 32 && json["hash"] == "sha256")
            case .sha512(let hash): #expect(hash.count == 64 && json["hash"] == "sha512")
            }
            try expectAllDamageRefused(assertion.data, for: recording.key)
        }
    }

    /// Truncated data is refused; a flipped bit is refused or changes a field.
    private func expectAllDamageRefused(_ bytes: [UInt8], for key: SSHPublicKey) throws {
        let original = try SignedData(parsing: bytes, for: key)
        for damaged in Damage.truncations(of: bytes) + [bytes + [0]] {
            #expect(throws: SignedDataError.self) { try SignedData(parsing: damaged, for: key) }
        }
        for damaged in Damage.someBitFlips(of: bytes) {
            guard let data = try? SignedData(parsing: damaged, for: key) else { continue }
            #expect(data.content != original.content)
        }
    }

    @Test("Without a key, a login names the key that is to sign")
    func namedKey() throws {
        let bytes = try passkey.login(TestServer.session(1), hostKey: server.blob)
        let data = try SignedData(parsing: bytes)
        #expect(data == (try parse(bytes)))
        guard case .login(let login) = data.content else { throw SignedDataError.unrecognized }
        #expect(login.key == key)
        #expect(throws: SignedDataError.foreignKey) {
            try SignedData(parsing: bytes, for: try TestPasskey().publicKey)
        }
        #expect(try SignedData(parsing: messageData()) == parse(messageData()))
        #expect(throws: SignedDataError.foreignKey) {
            let fields = LoginFields(session: TestServer.session(1), user: [97], method: "publickey", key: [0])
            _ = try SignedData(parsing: fields.bytes)
        }
    }

    @Test("Data of other protocols is refused")
    func otherProtocols() throws {
        let clientData = #"{"type":"webauthn.get","challenge":"AAAA","origin":"https://key.example.org"}"#
        let session = TestServer.session(1)
        // Session bytes that look like JSON do not make the data JSON.
        let others: [[UInt8]] = [
            [], Array(clientData.utf8), Array((clientData + "\n").utf8), [UInt8](repeating: 0, count: 100),
            Array("SSHSI".utf8), Array("sshsig".utf8), Array("SSH-2.0-OpenSSH".utf8), session, Wire.string(session),
            Wire.string([UInt8](clientData.utf8)), Wire.string(session) + [51],
            try passkey.login([UInt8](repeating: 1, count: 19)), try passkey.login([UInt8](repeating: 1, count: 65)),
        ]
        for bytes in others {
            #expect(throws: SignedDataError.self) { try parse(bytes) }
            if bytes.first == UInt8(ascii: "{") {
                #expect(throws: SignedDataError.unrecognized) { try parse(bytes) }
            }
        }
    }

    @Test("Each field of a login is checked")
    func loginFields() throws {
        let valid = LoginFields(
            session: TestServer.session(1),
            user: Array("ada".utf8),
            method: "publickey",
            key: key.encoded
        )
        #expect(throws: Never.self) { try parse(valid.bytes) }
        func expect(_ error: SignedDataError, _ change: (inout LoginFields) throws -> Void) rethrows {
            var fields = valid
            try change(&fields)
            let bytes = fields.bytes
            #expect(throws: error) { try parse(bytes) }
        }
        expect(.unrecognized) { $0.type = 51 }
        expect(.service) { $0.service = "ssh-userauth" }
        expect(.service) { $0.service = "ssh-connection\0" }
        expect(.method) { $0.method = "hostbased" }
        expect(.method) { $0.method = "publickey-hostbound-v01@openssh.com" }
        expect(.format(.truncated)) { $0.method = "publickey-hostbound-v00@openssh.com" }
        expect(.algorithm) { $0.algorithm = "webauthn-sk-ecdsa-sha2-nistp256@openssh.com" }
        expect(.algorithm) { $0.algorithm = "ssh-ed25519" }
        expect(.format(.boolean)) { $0.hasSignature = 0 }
        expect(.format(.boolean)) { $0.hasSignature = 2 }
        try expect(.foreignKey) { $0.key = try TestPasskey().publicKey.encoded }
        expect(.foreignKey) { $0.key += [0] }
        expect(.foreignKey) { $0.key = [] }
        #expect(throws: SignedDataError.format(.trailingBytes)) { try parse(valid.bytes + [0]) }
        #expect(throws: SignedDataError.format(.trailingBytes)) { try parse(valid.bytes + Wire.string(server.blob)) }
        for user in ["", "a\nb", "a\0", "a\u{202E}b", "a\u{200B}b", "a\u{1B}[2J", String(repeating: "a", count: 256)] {
            expect(.userName) { $0.user = Array(user.utf8) }
        }
        expect(.userName) { $0.user = [0xFF] }
    }

    @Test("A login with a certificate of ssh-keygen names authority and principals")
    func userCertificate() throws {
        let recording = try Recording()
        let json = try VectorFile.load("ssh/user-certificate.json")
        let blob = try json.hex("blob")
        var fields = LoginFields(
            session: TestServer.session(1),
            user: Array("ada".utf8),
            method: "publickey-hostbound-v00@openssh.com",
            key: blob
        )
        fields.algorithm = "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com"
        let bytes = fields.bytes + Wire.string(server.blob)
        let data = try SignedData(parsing: bytes, for: recording.key)
        guard case .login(let login) = data.content else { throw SignedDataError.method }
        let certificate = try #require(login.certificate)
        #expect(login.key == recording.key && login.hostKey?.encoded == server.blob)
        #expect(certificate.authority.description == (try json.text("authority")))
        #expect(certificate.principals == ["root", "ada"])
        #expect(certificate.shownPrincipals == #""root", "ada""#)
        for damaged in Damage.truncations(of: bytes) + [bytes + [0]] {
            #expect(throws: SignedDataError.self) { try SignedData(parsing: damaged) }
        }
        #expect(throws: SignedDataError.foreignKey) { try SignedData(parsing: bytes, for: key) }
        // The algorithm and the key must be of one kind.
        fields.algorithm = SSHPublicKey.algorithm
        #expect(throws: SignedDataError.foreignKey) { try SignedData(parsing: fields.bytes) }
        fields.algorithm = SSHUserCertificate.algorithm
        fields.key = recording.key.encoded
        #expect(throws: SignedDataError.certificate(.keyType)) { try SignedData(parsing: fields.bytes) }
        fields.key = blob + [0]
        #expect(throws: SignedDataError.certificate(.trailingBytes)) { try SignedData(parsing: fields.bytes) }
        // string type, nonce, curve, point and application, then a serial number of 8 bytes and the type.
        let type = try Wire.strings(blob[...], count: 5).reduce(0) { $0 + 4 + $1.count } + 8 + 3
        fields.key = blob
        #expect(fields.key[type] == 1)
        fields.key[type] = 2
        #expect(throws: SignedDataError.certificate(.certificate)) { try SignedData(parsing: fields.bytes) }
    }

    @Test("A login that no phone could be told is refused before any prompt, with the reason")
    func longLogin() throws {
        let recording = try Recording()
        let blob = try VectorFile.load("ssh/user-certificate.json").hex("blob")
        // The principals end before two numbers of 8 bytes, behind which the critical options stand.
        let names = Wire.string(Wire.string("root") + Wire.string("ada"))
        let options = try #require(
            blob.indices.first { blob[$0...].starts(with: names) }.map { $0 + names.count + 16 }
        )
        func login(padding: Int) -> [UInt8] {
            var fields = LoginFields(
                session: TestServer.session(1),
                user: Array("ada".utf8),
                method: "publickey-hostbound-v00@openssh.com",
                key: Array(blob[..<options]) + Wire.string([UInt8](repeating: 7, count: padding))
                    + Array(blob[(options + 4)...])
            )
            fields.algorithm = SSHUserCertificate.algorithm
            return fields.bytes + Wire.string(server.blob)
        }
        let padding = SignedData.maximumLength - login(padding: 0).count
        let longest = login(padding: padding)
        #expect(longest.count == SignedData.maximumLength)
        #expect(try SignedData(parsing: longest, for: recording.key).bytes == longest)
        let tooLong = login(padding: padding + 1)
        #expect(throws: SignedDataError.tooLong) { try SignedData(parsing: tooLong, for: recording.key) }
        #expect(throws: SignedDataError.tooLong) { try SignedData(parsing: tooLong) }

        let comment = try #require(SSHKeyComment("phone"))
        var state = AgentState(keys: [
            AgentKey(recording.key, comment: comment, allowsForwardedMessages: false, destinations: nil)
        ])
        for (data, isRefused) in [(longest, false), (tooLong, true)] {
            var client = TestClient()
            let request =
                [13] + Wire.string(recording.key.encoded) + Wire.string(data) + [0, 0, 0, 0] as [UInt8]
            let action = try client.send(server.bind(TestServer.session(1)), request, to: &state)
            #expect((action.request == nil) == isRefused)
            #expect((action.refusal == .data(.tooLong)) == isRefused)
        }
        #expect(AgentRefusal.data(.tooLong).explanation.contains("32,768 bytes, because of its certificate"))
    }

    @Test("The host key of a login is checked")
    func hostBoundLogin() throws {
        let session = TestServer.session(1)
        let data = try parse(try passkey.login(session, hostKey: server.blob))
        guard case .login(let login) = data.content else { throw SignedDataError.method }
        #expect(login.hostKey?.encoded == server.blob)
        let trailing = try passkey.login(session, hostKey: server.blob) + [0]
        #expect(throws: SignedDataError.format(.trailingBytes)) { try parse(trailing) }
        let longer = try passkey.login(session, hostKey: server.blob + [0])
        #expect(throws: SignedDataError.format(.trailingBytes)) { try parse(longer) }
        let unknown = try passkey.login(session, hostKey: Wire.string("ssh-dss"))
        #expect(throws: SignedDataError.format(.keyType)) { try parse(unknown) }
    }

    @Test("Each field of a message is checked")
    func messageFields() {
        #expect(throws: Never.self) { try parse(messageData()) }
        #expect(throws: Never.self) { try parse(messageData(algorithm: "sha256", length: 32)) }
        for namespace in ["", "a b", "git\n", "git\0", "a\u{202E}b", String(repeating: "a", count: 256)] {
            #expect(throws: SignedDataError.namespace) { try parse(messageData(namespace: namespace)) }
        }
        #expect(throws: SignedDataError.reserved) { try parse(messageData(reserved: "x")) }
        for (algorithm, length) in [
            ("sha256", 64), ("sha512", 32), ("sha384", 48), ("sha1", 20), ("sha512", 0), ("", 64),
        ] {
            #expect(throws: SignedDataError.hash) { try parse(messageData(algorithm: algorithm, length: length)) }
        }
        #expect(throws: SignedDataError.format(.trailingBytes)) { try parse(messageData() + [0]) }
    }
}
