// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// Libraries are listed bottom-up: each may depend only on those above it in this file. Tests/ArchitectureTests compares
// this file with the table in ARCHITECTURE.md.

// Set by CI only, so that warnings of newer compilers do not break users' builds.
let strictness: [SwiftSetting] =
    Context.environment["HYBRID_WARNINGS_AS_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)]
let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ] + strictness

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
func nio(_ module: String) -> Target.Dependency { .product(name: module, package: "swift-nio") }
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let x509: Target.Dependency = .product(name: "X509", package: "swift-certificates")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")

/// Returns the library of a folder: its module is named `Hybrid` and the folder's name.
func library(
    _ name: String,
    in group: String? = nil,
    _ dependencies: [Target.Dependency],
    resources: [Resource]? = nil
) -> Target {
    let folder = name.dropFirst("Hybrid".count)
    return .target(
        name: name,
        dependencies: dependencies,
        path: ["Sources", group, String(folder)].compactMap(\.self).joined(separator: "/"),
        resources: resources,
        swiftSettings: settings
    )
}

// With --static-swift-stdlib, Swift exports all symbols: the programs are larger, and start a millisecond later.
let linking: [LinkerSetting] = [.unsafeFlags(["-Xlinker", "--no-export-dynamic"])]

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: settings, linkerSettings: linking)
}

/// Returns a target of `Tests`, which stands where the code that it tests stands in `Sources`.
func tests(
    _ name: String,
    in group: String? = nil,
    _ dependencies: [Target.Dependency],
    exclude: [String] = []
) -> Target {
    .testTarget(
        name: name,
        dependencies: dependencies,
        path: ["Tests", group, name].compactMap(\.self).joined(separator: "/"),
        exclude: exclude,
        swiftSettings: settings
    )
}

/// Returns a target with helpers for tests.
func support(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/Testing/\(name)", swiftSettings: settings)
}

/// Returns the module of a C library or of C headers.
func cLibrary(_ name: String, pkgConfig: String? = nil, apt package: String? = nil) -> Target {
    .systemLibrary(
        name: name,
        path: "Sources/Support/CLibraries/\(name)",
        pkgConfig: pkgConfig,
        providers: package.map { [.apt([$0])] }
    )
}

let systemLibraries: [Target] = [
    cLibrary("CHybridSystemd", pkgConfig: "libsystemd", apt: "libsystemd-dev"),
    // Headers only, for the kernel's Bluetooth sockets; no library is linked.
    cLibrary("CHybridBluetooth", apt: "libbluetooth-dev"),
    cLibrary("CHybridQREncode", pkgConfig: "libqrencode", apt: "libqrencode-dev"),
    cLibrary("CHybridZBar", pkgConfig: "zbar", apt: "libzbar-dev"),
    cLibrary("CHybridPNG", pkgConfig: "libpng", apt: "libpng-dev"),
    cLibrary("CHybridTurboJPEG", pkgConfig: "libturbojpeg", apt: "libturbojpeg0-dev"),
    // malloc.h, which is not part of the Glibc module.
    cLibrary("CHybridMalloc"),
    // Calls of the kernel that are variadic or have no function in glibc.
    cLibrary("CHybridLinux"),
    cLibrary("CHybridXCB", pkgConfig: "xcb", apt: "libxcb1-dev"),
    cLibrary("CHybridPSL", pkgConfig: "libpsl", apt: "libpsl-dev"),
    cLibrary("CHybridZlib", pkgConfig: "zlib", apt: "zlib1g-dev"),
    cLibrary("CHybridOpenSSL", pkgConfig: "libssl", apt: "libssl-dev"),
    // Headers only; the libraries are loaded at run time.
    cLibrary("CHybridTSS2", apt: "libtss2-dev"),
    // SPA, the headers that describe PipeWire's data; the library is loaded at run time.
    cLibrary("CHybridPipeWire", pkgConfig: "libspa-0.2", apt: "libspa-0.2-dev"),
]

let libraries: [Target] = [
    library("HybridPrimitives", in: "Support", []),
    library("HybridThreads", in: "Support", ["CHybridLinux"]),
    library("HybridProgram", in: "Support", ["HybridPrimitives", "HybridThreads"]),
    library("HybridDeflate", in: "Support", ["CHybridZlib"]),
    library("HybridCBOR", in: "Protocol", []),
    library("HybridCTAP", in: "Protocol", ["HybridPrimitives", "HybridCBOR", crypto]),
    library("HybridSecurityKey", in: "Protocol", ["HybridCTAP", crypto]),
    library("HybridSSHAgent", in: "Protocol", ["HybridPrimitives", crypto, cryptoExtras]),
    library("HybridAge", in: "Protocol", ["HybridCTAP", crypto]),
    library("HybridWebAuthn", in: "Protocol", ["HybridCTAP", "HybridDeflate", "CHybridPSL", crypto]),
    library(
        "HybridRelyingParty",
        in: "Protocol",
        ["HybridThreads", "HybridWebAuthn", crypto, cryptoExtras, x509, asn1]
    ),
    library("HybridCaBLE", ["HybridPrimitives", "HybridCBOR", crypto, cryptoExtras]),
    library("HybridDBus", in: "Support", ["HybridThreads", "CHybridSystemd"]),
    library("HybridBLEAdvert", ["HybridCaBLE", "HybridDBus", "CHybridBluetooth"]),
    library("HybridBoringTLS", in: "Transport", [nioSSL]),
    library(
        "HybridNetwork",
        in: "Transport",
        [
            "HybridProgram", "HybridBoringTLS", crypto, nio("NIOCore"),
            nio("NIOPosix"), nio("NIOHTTP1"),
        ]
    ),
    library(
        "HybridDataChannel",
        in: "Transport",
        ["HybridCaBLE", "HybridNetwork", nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1"), nio("NIOWebSocket")]
    ),
    library("HybridSession", in: "Transport", ["HybridCTAP", "HybridBLEAdvert", "HybridDataChannel"]),
    library(
        "HybridCommandSupport",
        in: "Support",
        ["HybridProgram", argumentParser, logging, coreMetrics]
    ),
    library("HybridDoctor", in: "Support", ["HybridCommandSupport", "HybridSession", argumentParser]),
    library("HybridAuthenticator", in: "Phone", ["HybridCTAP", "HybridSSHAgent", crypto]),
    library("HybridCredentialExchange", in: "Phone", ["HybridDeflate", "HybridAuthenticator", crypto]),
    library("HybridTransfer", in: "Phone", ["HybridCaBLE", "HybridCredentialExchange", crypto]),
    library("HybridTPM", in: "Phone", ["HybridPrimitives", "CHybridTSS2"]),
    library(
        "HybridVault",
        in: "Phone",
        ["HybridThreads", "HybridCredentialExchange", "HybridTPM", crypto, cryptoExtras]
    ),
    library("HybridVaultAgent", in: "Phone", ["HybridDBus", "HybridAuthenticator", "HybridCommandSupport"]),
    library("HybridPhoneLinks", in: "Phone", ["HybridCommandSupport", "HybridSession", crypto]),
    library(
        "HybridQRScanning",
        in: "Phone",
        [
            "HybridPrimitives", "HybridThreads", "CHybridPipeWire", "CHybridZBar", "CHybridPNG", "CHybridTurboJPEG",
        ]
    ),
    library("HybridPinentry", in: "Phone", ["HybridPrimitives", "HybridThreads"]),
    library("HybridAsk", in: "Phone", ["HybridPinentry"]),
    library("HybridDesktopPortal", in: "Phone", ["HybridPrimitives", "HybridDBus"]),
    library("HybridQRCode", in: "Computer", ["CHybridQREncode", "CHybridPNG"]),
    library(
        "HybridLocalPage",
        in: "Computer",
        [
            "HybridPrimitives", "HybridThreads", "HybridQRCode", crypto, nio("NIOCore"), nio("NIOPosix"),
            nio("NIOHTTP1"),
        ],
        resources: [.embedInCode("Page/page.js"), .embedInCode("Page/page.css")]
    ),
    library(
        "HybridClientCeremony",
        in: "Computer",
        ["HybridWebAuthn", "HybridCommandSupport", "HybridSession", "HybridLocalPage", argumentParser, crypto]
    ),
    library(
        "HybridKeyService",
        in: "Computer",
        ["HybridSecurityKey", "HybridSSHAgent", "HybridWebAuthn", "HybridCommandSupport", crypto]
    ),
    library("HybridSecrets", in: "Computer", ["HybridAge", "HybridKeyService"]),
    library(
        "HybridRelayCore",
        in: "Relay",
        [
            "HybridThreads", "HybridCaBLE", "HybridBoringTLS", crypto, nio("NIOCore"), nio("NIOPosix"),
            nio("NIOHTTP1"), logging, metrics,
        ]
    ),
    library(
        "HybridRelayCheck",
        in: "Relay",
        ["HybridCaBLE", "HybridNetwork", crypto, nio("NIOCore"), nio("NIOPosix")]
    ),
    library("HybridVirtualBlueZ", in: "Support", ["HybridPrimitives", "HybridDBus"]),
]

let programs: [Target] = [
    program(
        "HybridRelay",
        [
            "HybridRelayCore", "HybridRelayCheck", "HybridCommandSupport", "CHybridMalloc", nio("NIOCore"), logging,
            coreMetrics, argumentParser,
        ]
    ),
    program("HybridClient", ["HybridDoctor", "HybridClientCeremony", argumentParser]),
    program("HybridKey", ["HybridDoctor", "HybridClientCeremony", "HybridSecrets", argumentParser]),
    program("HybridRemote", ["HybridSSHAgent", "HybridCommandSupport", argumentParser]),
    // Without packages.
    program("HybridUHID", ["HybridProgram", "CHybridSystemd"]),
    program(
        "HybridAuth",
        [
            "HybridQRScanning", "HybridDesktopPortal", "HybridVault", "HybridAsk", "HybridDoctor",
            "HybridPhoneLinks", "HybridVaultAgent", "HybridRelayCheck", "HybridClientCeremony", "HybridTransfer",
            argumentParser,
        ]
    ),
    program(
        "HybridLab",
        [
            "HybridRelyingParty", "HybridQRCode", "HybridQRScanning", "HybridAuthenticator", "HybridPhoneLinks",
            "HybridRelayCore", "HybridVirtualBlueZ", "CHybridXCB", crypto, x509, asn1, nio("NIOCore"),
            nio("NIOPosix"), nioSSL, logging, argumentParser,
        ]
    ),
]

let testTargets: [Target] = [
    support("TestSupport", []),
    support("IntegrationTestSupport", ["HybridRelayCore", "HybridVirtualBlueZ", nio("NIOCore"), logging]),
    support(
        "NetworkTestSupport",
        ["HybridCaBLE", "HybridNetwork", "TestSupport", nio("NIOCore"), nio("NIOPosix"), nioSSL]
    ),
    support("OpenSSLTestSupport", ["CHybridOpenSSL"]),
    support("ExchangeTestSupport", ["HybridPrimitives", "TestSupport", crypto]),
    support("SSHTestSupport", ["HybridSSHAgent", "TestSupport", crypto]),
    tests("ThreadsTests", in: "Support", ["HybridThreads"]),
    tests("PrimitivesTests", in: "Support", ["HybridPrimitives"]),
    tests("DeflateTests", in: "Support", ["HybridDeflate", "TestSupport"]),
    tests(
        "CommandSupportTests",
        in: "Support",
        ["HybridCommandSupport", "TestSupport", logging, coreMetrics]
    ),
    tests("DoctorTests", in: "Support", ["HybridDoctor", "TestSupport"]),
    tests("CBORTests", in: "Protocol", ["HybridCBOR", "TestSupport"]),
    tests("CTAPTests", in: "Protocol", ["HybridCTAP", "TestSupport", crypto]),
    tests(
        "SecurityKeyTests",
        in: "Protocol",
        ["HybridSecurityKey", "TestSupport", crypto],
        exclude: ["fido2_client.py", "libfido2_client.py"]
    ),
    tests("SSHAgentTests", in: "Protocol", ["HybridSSHAgent", "SSHTestSupport", "TestSupport", crypto, cryptoExtras]),
    tests("AgeTests", in: "Protocol", ["HybridAge", "TestSupport", crypto]),
    tests("WebAuthnTests", in: "Protocol", ["HybridWebAuthn", "TestSupport", crypto]),
    tests(
        "RelyingPartyTests",
        in: "Protocol",
        ["HybridRelyingParty", "HybridAuthenticator", "TestSupport", crypto, cryptoExtras, x509, asn1],
        exclude: ["verdicts.py"]
    ),
    tests("CaBLETests", ["HybridCaBLE", "CHybridOpenSSL", "TestSupport", crypto, cryptoExtras]),
    tests("BLEAdvertTests", ["HybridBLEAdvert", "IntegrationTestSupport", "TestSupport"]),
    tests(
        "NetworkTests",
        in: "Transport",
        ["HybridNetwork", "NetworkTestSupport", "TestSupport", nio("NIOCore"), nio("NIOEmbedded"), nioSSL]
    ),
    tests(
        "DataChannelTests",
        in: "Transport",
        [
            "HybridDataChannel", "HybridThreads", "IntegrationTestSupport", "NetworkTestSupport", "TestSupport",
            nio("NIOCore"),
            nio("NIOPosix"), nio("NIOEmbedded"), nio("NIOWebSocket"), nioSSL, crypto, logging,
        ]
    ),
    tests(
        "SessionTests",
        in: "Transport",
        [
            "HybridSession", "IntegrationTestSupport", "NetworkTestSupport", "TestSupport", nio("NIOCore"), crypto,
        ]
    ),
    tests(
        "AuthenticatorTests",
        in: "Phone",
        ["HybridAuthenticator", "HybridCBOR", "SSHTestSupport", "TestSupport", crypto]
    ),
    tests("TPMTests", in: "Phone", ["HybridTPM", "TestSupport"]),
    tests(
        "CredentialExchangeTests",
        in: "Phone",
        ["HybridCredentialExchange", "ExchangeTestSupport", "TestSupport", crypto]
    ),
    tests("TransferTests", in: "Phone", ["HybridTransfer", "ExchangeTestSupport", "TestSupport", crypto]),
    tests("VaultTests", in: "Phone", ["HybridVault", "ExchangeTestSupport", "TestSupport", crypto]),
    tests("VaultAgentTests", in: "Phone", ["HybridVaultAgent", "HybridVirtualBlueZ", "TestSupport"]),
    tests(
        "PhoneLinksTests",
        in: "Phone",
        ["HybridPhoneLinks", "IntegrationTestSupport", "TestSupport", crypto, nio("NIOCore")]
    ),
    tests("QRScanningTests", in: "Phone", ["HybridQRScanning", "HybridQRCode", "TestSupport"]),
    tests("PinentryTests", in: "Phone", ["HybridPinentry", "TestSupport"]),
    tests("AskTests", in: "Phone", ["HybridAsk", "TestSupport"]),
    tests("DesktopPortalTests", in: "Phone", ["HybridDesktopPortal", "HybridVirtualBlueZ", "TestSupport"]),
    tests("QRCodeTests", in: "Computer", ["HybridQRCode", "TestSupport"]),
    tests(
        "LocalPageTests",
        in: "Computer",
        ["HybridLocalPage", "TestSupport", nio("NIOCore"), nio("NIOEmbedded"), nio("NIOHTTP1")]
    ),
    tests(
        "ClientCeremonyTests",
        in: "Computer",
        ["HybridClientCeremony", "HybridKeyService", "TestSupport", crypto]
    ),
    tests(
        "KeyServiceTests",
        in: "Computer",
        ["HybridKeyService", "SSHTestSupport", "TestSupport", crypto],
        exclude: ["key_client.py", "key_phone.py"]
    ),
    tests("SecretsTests", in: "Computer", ["HybridSecrets", "TestSupport", crypto]),
    tests(
        "RelayCoreTests",
        in: "Relay",
        [
            "HybridNetwork", "IntegrationTestSupport", "OpenSSLTestSupport", "TestSupport", nio("NIOCore"),
            nio("NIOPosix"), nio("NIOEmbedded"), nio("NIOHTTP1"), nioSSL, logging,
        ]
    ),
    tests(
        "RelayCheckTests",
        in: "Relay",
        [
            "HybridRelayCheck", "IntegrationTestSupport", "TestSupport", nio("NIOCore"), nio("NIOPosix"), nioSSL,
            crypto,
        ]
    ),
    tests("HybridRelayTests", ["TestSupport"]),
    tests(
        "HybridAuthTests",
        ["HybridAuth", "HybridPhoneLinks", "HybridQRCode", "HybridQRScanning", "HybridVirtualBlueZ", "TestSupport"]
    ),
    tests("HybridUHIDTests", ["HybridUHID", "TestSupport"]),
    tests(
        "CeremonyTests",
        [
            "HybridAuthenticator", "HybridKeyService", "HybridPhoneLinks", "HybridVault", "IntegrationTestSupport",
            "TestSupport", crypto,
        ],
        exclude: ["relying_party.py"]
    ),
    tests("ArchitectureTests", ["TestSupport"]),
]

let package = Package(
    name: "hybrid",
    products: [
        .library(name: "HybridPrimitives", targets: ["HybridPrimitives"]),
        .library(name: "HybridProgram", targets: ["HybridProgram"]),
        .library(name: "HybridQRCode", targets: ["HybridQRCode"]),
        .library(name: "HybridQRScanning", targets: ["HybridQRScanning"]),
        .library(name: "HybridCBOR", targets: ["HybridCBOR"]),
        .library(name: "HybridCTAP", targets: ["HybridCTAP"]),
        .library(name: "HybridSecurityKey", targets: ["HybridSecurityKey"]),
        .library(name: "HybridCaBLE", targets: ["HybridCaBLE"]),
        .library(name: "HybridSSHAgent", targets: ["HybridSSHAgent"]),
        .library(name: "HybridWebAuthn", targets: ["HybridWebAuthn"]),
        .library(name: "HybridRelyingParty", targets: ["HybridRelyingParty"]),
        .library(name: "HybridBLEAdvert", targets: ["HybridBLEAdvert"]),
        .library(name: "HybridNetwork", targets: ["HybridNetwork"]),
        .library(name: "HybridDataChannel", targets: ["HybridDataChannel"]),
        .library(name: "HybridAuthenticator", targets: ["HybridAuthenticator"]),
        .library(name: "HybridSession", targets: ["HybridSession"]),
        .library(name: "HybridRelayCore", targets: ["HybridRelayCore"]),
        .executable(name: "hybrid-relay", targets: ["HybridRelay"]),
        .executable(name: "hybrid-client", targets: ["HybridClient"]),
        .executable(name: "hybrid-auth", targets: ["HybridAuth"]),
        .executable(name: "hybrid-key", targets: ["HybridKey"]),
        .executable(name: "hybrid-remote", targets: ["HybridRemote"]),
        .executable(name: "hybrid-uhid", targets: ["HybridUHID"]),
        .executable(name: "hybrid-lab", targets: ["HybridLab"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", .upToNextMinor(from: "1.8.2")),
        .package(url: "https://github.com/apple/swift-asn1", .upToNextMinor(from: "1.7.4")),
        .package(url: "https://github.com/apple/swift-certificates", .upToNextMinor(from: "1.21.1")),
        .package(url: "https://github.com/apple/swift-crypto", .upToNextMinor(from: "4.5.2")),
        .package(url: "https://github.com/apple/swift-log", .upToNextMinor(from: "1.16.2")),
        .package(url: "https://github.com/apple/swift-metrics", .upToNextMinor(from: "2.13.0")),
        .package(url: "https://github.com/apple/swift-nio", .upToNextMinor(from: "2.101.2")),
        .package(url: "https://github.com/apple/swift-nio-ssl", .upToNextMinor(from: "2.37.6")),
    ],
    targets: systemLibraries + libraries + programs + testTargets,
    swiftLanguageModes: [.v6]
)

// Set by `scripts/test --only`: names of test targets and programs, separated by commas. The package is reduced to these
// and what they depend on, because SwiftPM can build the tests of all targets only.
if let names = Context.environment["HYBRID_ONLY"] {
    var pending = names.split(separator: ",").map(String.init)
    package.products.removeAll { !pending.contains($0.name) }
    pending += package.products.flatMap { ($0 as? Product.Executable)?.targets ?? [] }
    var needed: Set<String> = []
    while let name = pending.popLast() {
        guard needed.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else {
            continue
        }
        for dependency in target.dependencies {
            switch dependency {
            case .byNameItem(let name, _), .targetItem(let name, _): pending.append(name)
            default: break
            }
        }
    }
    package.targets.removeAll { !needed.contains($0.name) }
}
