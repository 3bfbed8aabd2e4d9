// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import HybridCTAP
import HybridCommandSupport
import HybridPrimitives
import HybridSSHAgent
import TestSupport
import Testing

@testable import HybridKeyService

/// Ceremonies of hybrid-key with hybrid-auth, which shows what an SSH key signs.
@Suite("SSH keys in hybrid-auth", .keepsEvidence, SharedEnvironment(), .serialized)
struct SSHKeyTests {
    /// A ceremony with the answer of hybrid-auth and the prompts that its user saw.
    private struct Result {
        let ceremony: CeremonyResult
        let answer: [UInt8]
        let prompts: String
    }

    private func perform(_ command: CeremonyRequest.Command, extra: [String] = []) async throws -> Result {
        let environment = try CeremonyEnvironment.shared()
        let before = environment.pinentryLog.count
        let (ceremony, answer) = try await environment.performKeyCeremony(command, extra: extra)
        #expect(answer?.phone == nil, "it has scanned the code")
        let prompts = String(environment.pinentryLog.dropFirst(before))
        return Result(ceremony: ceremony, answer: answer?.response ?? [], prompts: prompts)
    }

    /// Creates an SSH key and returns it with the prompts that the user saw.
    private func create(_ rp: String? = nil) async throws -> (key: StoredSSHKey, prompts: String) {
        var generator = SystemRandomNumberGenerator()
        let id = rp.flatMap { RelyingPartyID($0, accepting: [.domain, .ssh]) }
        let creation = SSHKeyCreation(
            relyingPartyID: try #require(id ?? RelyingPartyID.random(prefix: "ssh-", using: &generator)),
            comment: try #require(SSHKeyComment("work laptop")),
            allowsForwardedMessages: false,
            using: &generator
        )
        let made = try #require(creation)
        let result = try await perform(.create(made.request))
        try #require(result.ceremony.isSuccess, "\(result.ceremony)")
        return (try made.key(in: result.answer), result.prompts)
    }

    /// Requests a signature.
    ///
    /// - Parameters:
    ///   - data: The data to sign.
    ///   - stated: The data that the request states; `nil` to state none.
    private func sign(
        _ data: [UInt8],
        stating stated: [UInt8]?,
        with key: StoredSSHKey,
        extra: [String] = []
    ) async throws -> Result {
        let hash = try #require(ClientDataHash(bytes: Array(SHA256.hash(data: data))))
        let request = GetAssertionRequest(
            relyingPartyID: key.relyingPartyID,
            clientDataHash: hash,
            allowList: [CredentialDescriptor(id: key.credentialID)],
            extensions: try stated.map { try #require(SignedDataInput(bytes: $0)).extensionInput },
            userVerification: true
        )
        return try await perform(.sign(request), extra: extra)
    }

    private static func string(_ bytes: some Collection<UInt8>) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: bytes.count >> $0) } + bytes
    }

    private static func strings(_ texts: String...) -> [UInt8] { texts.flatMap { string(Array($0.utf8)) } }

    /// Returns the data of a login to a server.
    private static func login(
        _ user: String,
        with key: StoredSSHKey,
        at hostKey: [UInt8],
        certificate: [UInt8]? = nil
    ) -> [UInt8] {
        let type = certificate == nil ? SSHPublicKey.algorithm : SSHUserCertificate.algorithm
        let parts: [[UInt8]] = [
            string([UInt8](repeating: 7, count: 32)), [50],
            strings(user, "ssh-connection", "publickey-hostbound-v00@openssh.com"), [1],
            strings(type), string(certificate ?? key.publicKey.encoded), string(hostKey),
        ]
        return Array(parts.joined())
    }

    /// Returns a certificate of a key for two principals, by an authority with this key.
    ///
    /// - Parameter padding: Length in bytes of its critical options.
    private static func certificate(of key: StoredSSHKey, by authority: [UInt8], padding: Int = 0) -> [UInt8] {
        let number = [UInt8](repeating: 0, count: 8)
        // The key's fields follow its type.
        let fields = key.publicKey.encoded.dropFirst(4 + SSHPublicKey.algorithm.utf8.count)
        let parts: [[UInt8]] = [
            strings(SSHUserCertificate.algorithm, "nonce"), Array(fields), number, [0, 0, 0, 1], strings("id"),
            string(strings("root", "ops")), number, number, string([UInt8](repeating: 7, count: padding)),
            strings("", ""), string(authority), strings("signature"),
        ]
        return Array(parts.joined())
    }

    private static let hostKey =
        strings("ssh-ed25519") + string(Array(Curve25519.Signing.PrivateKey().publicKey.rawRepresentation))

    @Test("A login shows user, host key and key, and is a signature for SSH")
    func login() async throws {
        let (key, creation) = try await create()
        #expect(creation.contains("SETDESC \(key.relyingPartyID)%0A%0ACreate an SSH key?%0A"), "\(creation)")
        #expect(creation.contains(#"Save an SSH key with this name?%0A"work laptop"%0A"#), "\(creation)")

        let bytes = Self.login("root", with: key, at: Self.hostKey)
        let result = try await sign(bytes, stating: bytes, with: key)
        result.ceremony.expectSuccess()
        let data = try SignedData(parsing: bytes, for: key.publicKey)
        #expect(SSHSigner.signature(in: result.answer, by: key, over: data) != nil)
        guard case .login(let login) = data.content else { return }
        let fingerprint = try #require(login.hostKey).fingerprint
        let text =
            #"%0A%0ALog in to an SSH server as this user?%0A"root"%0AHost key of the server:%0A\#(fingerprint)%0A"#
            + #"With the key:%0A"work laptop"%0A"#
        #expect(result.prompts.contains("SETDESC \(key.relyingPartyID)%0A%0ALog in to an SSH server?%0A"))
        #expect(result.prompts.contains("SETDESC \(key.relyingPartyID)\(text)"), "\(result.prompts)")
    }

    @Test("A login with a certificate shows principals and authority, and each prompt calls a weak host key weak")
    func certificate() async throws {
        let (key, _) = try await create()
        let weak =
            Self.strings("ssh-rsa") + Self.string([1, 0, 1]) + Self.string([0] + [UInt8](repeating: 0xC5, count: 128))
        let certificate = Self.certificate(of: key, by: Self.hostKey)
        let bytes = Self.login("root", with: key, at: weak, certificate: certificate)
        let result = try await sign(bytes, stating: bytes, with: key)
        result.ceremony.expectSuccess()
        let server = "%0AWeak host key of the server:%0A\(try HostKey(parsing: weak).fingerprint)%0A"
        #expect(result.prompts.contains(server), "\(result.prompts)")
        let authority = try HostKey(parsing: Self.hostKey).fingerprint
        let text = #"%0ACertificate for "root", "ops", of the authority:%0A\#(authority)%0AWith the key:%0A"#
        #expect(result.prompts.contains(text), "\(result.prompts)")
    }

    @Test("A phone signs the longest login that the agent accepts")
    func longestLogin() async throws {
        let (key, _) = try await create()
        func login(_ padding: Int) -> [UInt8] {
            let certificate = Self.certificate(of: key, by: Self.hostKey, padding: padding)
            return Self.login("root", with: key, at: Self.hostKey, certificate: certificate)
        }
        let bytes = login(SignedData.maximumLength - login(0).count)
        try #require(bytes.count == SignedData.maximumLength)
        let data = try SignedData(parsing: bytes, for: key.publicKey)
        let result = try await sign(bytes, stating: bytes, with: key)
        result.ceremony.expectSuccess()
        #expect(SSHSigner.signature(in: result.answer, by: key, over: data) != nil)
    }

    @Test("Data that is not stated, or is not what is signed, is not signed with an SSH key")
    func refused() async throws {
        let (key, _) = try await create()
        let bytes = Self.login("root", with: key, at: Self.hostKey)
        let unstated = try await sign(bytes, stating: nil, with: key)
        #expect(unstated.ceremony.client.status == 77, "\(unstated.ceremony)")
        #expect(unstated.ceremony.authenticator.lastLine.contains("did not say what is to be signed"))
        #expect(unstated.prompts.contains("The other device did not say what is signed."), "\(unstated.prompts)")

        let other = Self.login("ada", with: key, at: Self.hostKey)
        let clientData = Array(#"{"type":"webauthn.get"}"#.utf8)
        for (data, stated, words) in [
            (bytes, other, "different from what it showed"), (clientData, clientData, "neither"),
        ] {
            let result = try await sign(data, stating: stated, with: key)
            #expect(result.ceremony.client.status == 77, "\(result.ceremony)")
            #expect(result.ceremony.authenticator.lastLine.contains(words), "\(result.ceremony)")
            #expect(!result.prompts.contains("GETPIN"), "the user is not asked")
        }
    }

    @Test("A key below ssh: is shown as an SSH key, never as a domain")
    func localService() async throws {
        let (key, creation) = try await create("ssh:example.org")
        #expect(creation.contains(#"SETDESC SSH key%0A"example.org"%0A%0ACreate an SSH key?%0A"#), "\(creation)")
        let message = Array("SSHSIG".utf8) + Self.strings("git", "", "sha256") + Self.string(Array(0..<32))
        let result = try await sign(message, stating: message, with: key)
        result.ceremony.expectSuccess()
        let data = try SignedData(parsing: message, for: key.publicKey)
        #expect(SSHSigner.signature(in: result.answer, by: key, over: data) != nil)
        let text = #"SETDESC SSH key%0A"example.org"%0A%0ASign for git?%0AWith the key:%0A"work laptop"%0A"#
        #expect(result.prompts.contains(text), "\(result.prompts)")
        for prompts in [creation, result.prompts] {
            #expect(!prompts.contains("ssh:") && !prompts.contains("SETDESC example.org"), "\(prompts)")
        }

        let off = try await sign(message, stating: message, with: key, extra: ["--no-local-services"])
        #expect(off.ceremony.client.status == 77 && off.ceremony.authenticator.status != 0, "\(off.ceremony)")
        #expect(!off.prompts.contains("GETPIN"), "the user is not asked")
    }

    /// A browser that writes what the page receives to a file.
    private static let browser = """
        #!/usr/bin/env python3
        import http.cookiejar, os, sys, urllib.request
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        browser = urllib.request.build_opener(urllib.request.ProxyHandler({}), jar)
        browser.open(sys.argv[1]).read()
        origin = sys.argv[1].split("/open/")[0]
        browser.open(origin + "/").read()
        with browser.open(origin + "/events") as events, open(os.environ["TEST_PAGE"], "wb", 0) as file:
            for line in events:
                file.write(line)
        """

    /// Runs `hybrid-key link` for the only key of a computer, whose user answers yes to each question.
    ///
    /// - Parameters:
    ///   - key: The key that the computer remembers.
    ///   - extra: Options of hybrid-auth.
    /// - Returns: Both programs, the path of what the page has shown, and the links.
    private func link(
        _ key: StoredSSHKey,
        extra: [String]
    ) async throws -> (ceremony: CeremonyResult, page: String, links: String) {
        let environment = try CeremonyEnvironment.shared()
        let state = ["XDG_STATE_HOME": "\(environment.folder)/\(UUID().uuidString.prefix(8))"]
        let folder = try StateFolder(path: "\(state["XDG_STATE_HOME"] ?? "")/hybrid/key")
        try SSHKeyStore(in: folder).add([key])
        let (browser, page) = ("\(folder.path)/browser", "\(folder.path)/page")
        try await TestFile.writeProgram(Self.browser, to: browser)
        let program = try environment.start(
            "hybrid-key",
            ["link", "--json", "--open"] + environment.network,
            variables: state.merging(["BROWSER": browser, "TEST_PAGE": page]) { $1 },
            input: "yes\n"
        )
        let code = try await environment.code(of: program)
        try await Waiting.until("the page in the browser") { !TestFile.text(page).isEmpty }
        let phone = try environment.startAuthenticator(code, extra: extra)
        let ceremony = CeremonyResult(client: try await program.ending(), authenticator: try await phone.ending())
        let list = try environment.start("hybrid-client", ["phones", "list", "--json"], variables: state)
        return (ceremony, page, try await list.ending().output)
    }

    @Test("The phone that signs with an SSH key is linked, without a website")
    func link() async throws {
        let (key, _) = try await create()
        let before = try CeremonyEnvironment.shared().pinentryLog.count
        let (ceremony, page, links) = try await link(key, extra: ["--link-as", "work laptop", "--json"])
        ceremony.expectSuccess()
        let events = try ceremony.client.events()
        let request = try #require(events.first)
        #expect(request["event"] == "request" && request["operation"] == "link", "\(request)")
        #expect(request["key"] == "work laptop" && request["rp_id"] == .text(key.relyingPartyID.text), "\(request)")
        #expect(request["fingerprint"] == .text("\(key.publicKey.fingerprint)"), "\(request)")
        let offer = try #require(events.first { $0["notice"] == "link-offer" })
        #expect(offer["evidence"] == "verified", "\(offer)")
        let (message, digits) = (try offer.text("message"), try offer.text("link_code"))
        #expect(message.contains(digits) && !message.contains("website"), "\(message)")
        #expect(digits.wholeMatch(of: /\d{3} \d{3}/) != nil)
        // The browser's program writes what it gets on its own.
        try await Waiting.until("the link code on the page", evidence: TestFile.text(page)) {
            TestFile.text(page).contains("link code \(digits)")
        }
        let offered = try #require(try ceremony.authenticator.events().first { $0["notice"] == "link-offered" })
        #expect(offered["link_code"] == .text(digits), "\(offered)")
        #expect(try offered.text("message").contains(digits), "\(offered)")
        let link = try #require(try JSONValue.lines(links).first, "\(ceremony)")
        #expect(link["evidence"] == "verified" && link["link_code"] == .boolean(true), "\(link)")
        #expect(link["key"] == .text("\(key.publicKey.fingerprint)"), "\(link)")
        let prompts = try CeremonyEnvironment.shared().pinentryLog.dropFirst(before)
        #expect(prompts.contains(LinkProof.namespace) && prompts.contains(digits), "\(prompts)")
    }

    @Test("A phone that signs with another key, or offers no link, is not linked, and the user is not asked")
    func notLinked() async throws {
        let (key, _) = try await create()
        let other = StoredSSHKey(
            try SSHPublicKey(
                x963Representation: Array(P256.Signing.PrivateKey().publicKey.x963Representation),
                application: key.publicKey.application
            ),
            credentialID: key.credentialID,
            comment: key.comment
        )
        let label = ["--link-as", "work laptop"]
        let cases = [
            (try #require(other), label, "wrong-ssh-key", 65), (key, ["--no-ask-to-link"], "no-link-offered", 77),
        ]
        for (key, options, code, status) in cases {
            let (ceremony, _, links) = try await link(key, extra: options)
            #expect(ceremony.client.status == Int32(status), "\(ceremony)")
            let events = try ceremony.client.events()
            #expect(try events.last?.text("code") == code, "\(ceremony)")
            #expect(!events.contains { $0["notice"] == "link-offer" } && links.isEmpty, "\(ceremony)")
        }
    }

    @Test("Without an SSH key, or with several and no name, one line says what to do")
    func noKey() async throws {
        let environment = try CeremonyEnvironment.shared()
        let state = ["XDG_STATE_HOME": "\(environment.folder)/\(UUID().uuidString.prefix(8))"]
        let none = try await environment.start("hybrid-key", ["link"], variables: state).ending()
        none.expect(66, "there is no SSH key; create one on the phone: hybrid-key ssh-keygen")
        let folder = try StateFolder(path: "\(state["XDG_STATE_HOME"] ?? "")/hybrid/key")
        try SSHKeyStore(in: folder).add([try await create().key, try await create().key])
        let several = try await environment.start("hybrid-key", ["link"], variables: state).ending()
        several.expect(64, "there are 2 SSH keys; name one of: hybrid-key ssh-keys list --fingerprints")
    }
}
