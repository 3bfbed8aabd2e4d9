// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport

/// A fuzz target, which returns true if the parser accepted the input, and throws ``BrokenInvariant``.
typealias FuzzTarget = @Sendable ([UInt8]) throws -> Bool

#if canImport(HybridBoringTLS)
/// The target of a build with the TLS library.
private let targets: [String: FuzzTarget] = ["relay-tls": fuzzRelayTLS]
#else
/// All other targets; each has a folder with its name in `Corpus`.
private let targets: [String: FuzzTarget] = [
    "age-file": fuzzAgeFile,
    "age-identity": fuzzAgeIdentity,
    "age-plugin": fuzzAgePlugin,
    "age-sealed": fuzzAgeSealed,
    "agent-message": fuzzAgentMessage,
    "ask-line": fuzzAskLine,
    "assuan": fuzzAssuan,
    "authentication": fuzzAuthentication,
    "camera-layout": fuzzCameraLayout,
    "cbor": fuzzCBOR,
    "channel": fuzzChannel,
    "contact-request": fuzzContactRequest,
    "ctap-request": fuzzCTAPRequest,
    "ctap-response": fuzzCTAPResponse,
    "ctaphid": fuzzCTAPHID,
    "digital-credential": fuzzDigitalCredential,
    "exchange": fuzzExchange,
    "exchange-archive": fuzzExchangeArchive,
    "exchange-bitwarden": fuzzExchange,
    "handshake": fuzzHandshake,
    "heard-advert": fuzzReceivedAdvert,
    "issuer-name": fuzzIssuerName,
    "json": fuzzJSON,
    "linking": fuzzLinking,
    "listen-message": fuzzListenMessage,
    "message-reassembler": fuzzMessageReassembler,
    "origin": fuzzOrigin,
    "page-request": fuzzPageRequest,
    "passkey-endpoints": fuzzPasskeyEndpoints,
    "picture": fuzzPicture,
    "post-handshake": fuzzPostHandshake,
    "prompt": fuzzPrompt,
    "proxy-header": fuzzProxyHeader,
    "proxy-settings": fuzzProxySettings,
    "push-contact": fuzzPushContact,
    "qr": fuzzQR,
    "redirect": fuzzRedirect,
    "registration": fuzzRegistration,
    "related-origins": fuzzRelatedOrigins,
    "relay": fuzzRelay,
    "relay-answer": fuzzRelayAnswer,
    "relayed-frames": fuzzRelayedFrames,
    "remote": fuzzRemote,
    "securitykey": fuzzSecurityKey,
    "service-data": fuzzServiceData,
    "session-line": fuzzSessionLine,
    "signal": fuzzSignal,
    "sshagent": fuzzSSHAgent,
    "sshkeys": fuzzSSHKeys,
    "sshsign": fuzzSSHSign,
    "transfer-code": fuzzTransferCode,
    "transfer-file": fuzzTransferFile,
    "transfer-message": fuzzTransferMessage,
    "tunnel-path": fuzzTunnelPath,
    "tunnel-table": fuzzTunnelTable,
    "vault": fuzzVault,
    "vault-backup": fuzzVaultBackup,
    "vault-link": fuzzVaultLink,
    "vault-pending": fuzzVaultPending,
    "vault-secret": fuzzVaultSecret,
    "vault-slot": fuzzVaultSlot,
    "vault-tpm-slot": fuzzVaultTPMSlot,
    "vault-uses": fuzzVaultUses,
    "webauthn-answer": fuzzWebAuthnAnswer,
    "webauthn-options": fuzzWebAuthnOptions,
    "websocket-frames": fuzzWebSocketFrames,
    "websocket-request": fuzzWebSocketRequest,
]
#endif

/// The target that the environment selects; one program contains all, because linking is slow.
private let chosen: FuzzTarget = {
    let name = getenv("HYBRID_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    if let target = targets[name] { return target }
    print(targets.keys.sorted().joined(separator: "\n"))
    fflush(nil)
    // The fuzzer reports `exit` as a crash.
    _exit(name == "list" ? 0 : 64)
}()

/// Runs one input of the fuzzer.
///
/// A broken invariant stops the run, and the fuzzer keeps the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        _ = try chosen(Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        fatalError("\(error)")
    }
    return 0
}
