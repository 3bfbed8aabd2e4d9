// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What takes an input and tells whether the parser took it, or what it ended with; throws ``BrokenInvariant``.
typealias FuzzTarget = @Sendable ([UInt8]) throws -> Bool

/// All targets; each has a folder of its name in `Corpus`.
private let targets: [String: FuzzTarget] = [
    "assuan": fuzzAssuan,
    "cbor": fuzzCBOR,
    "channel": fuzzChannel,
    "ctap-request": fuzzCTAPRequest,
    "ctap-response": fuzzCTAPResponse,
    "exchange": fuzzExchange,
    "handshake": fuzzHandshake,
    "heard-advert": fuzzHeardAdvert,
    "issuer-name": fuzzIssuerName,
    "linking": fuzzLinking,
    "message-cutter": fuzzMessageCutter,
    "origin": fuzzOrigin,
    "page-request": fuzzPageRequest,
    "picture": fuzzPicture,
    "post-handshake": fuzzPostHandshake,
    "proxy-header": fuzzProxyHeader,
    "proxy-settings": fuzzProxySettings,
    "qr": fuzzQR,
    "redirect": fuzzRedirect,
    "relay": fuzzRelay,
    "relay-answer": fuzzRelayAnswer,
    "relayed-frames": fuzzRelayedFrames,
    "service-data": fuzzServiceData,
    "tunnel-path": fuzzTunnelPath,
    "tunnel-table": fuzzTunnelTable,
    "vault": fuzzVault,
    "vault-backup": fuzzVaultBackup,
    "vault-link": fuzzVaultLink,
    "vault-pending": fuzzVaultPending,
    "vault-secret": fuzzVaultSecret,
    "vault-slot": fuzzVaultSlot,
    "vault-uses": fuzzVaultUses,
    "webauthn-answer": fuzzWebAuthnAnswer,
    "webauthn-options": fuzzWebAuthnOptions,
    "websocket-frames": fuzzWebSocketFrames,
    "websocket-request": fuzzWebSocketRequest,
]

/// The target that the environment names; one program holds them all, because linking costs more than compiling.
private let chosen: FuzzTarget = {
    let name = getenv("HYBRID_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    if let target = targets[name] { return target }
    print(targets.keys.sorted().joined(separator: "\n"))
    fflush(nil)
    // Plain `exit` is a crash to the fuzzer.
    _exit(name == "list" ? 0 : 64)
}()

/// One input that the fuzzer made up.
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
