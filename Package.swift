// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// The order below is the order of the road: what stands lower may import what stands higher, never the
// other way round. Tests/ArchitectureTests compares this file with the table in ARCHITECTURE.md.

// Set by CI: a warning of a newer compiler must not keep a user from building.
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

func library(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func executable(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies + [argumentParser], swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: settings)
}

let systemLibraries: [Target] = [
    .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    // Headers alone, for the kernel's Bluetooth sockets; nothing of it is linked.
    .systemLibrary(name: "CBluetooth", providers: [.apt(["libbluetooth-dev"])]),
    .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
    .systemLibrary(name: "CZBar", pkgConfig: "zbar", providers: [.apt(["libzbar-dev"])]),
    .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
    .systemLibrary(name: "CTurboJPEG", pkgConfig: "libturbojpeg", providers: [.apt(["libturbojpeg0-dev"])]),
    // malloc.h, which the system's own module leaves out.
    .systemLibrary(name: "CMalloc"),
    .systemLibrary(name: "CXCB", pkgConfig: "xcb", providers: [.apt(["libxcb1-dev"])]),
    .systemLibrary(name: "CPSL", pkgConfig: "libpsl", providers: [.apt(["libpsl-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
]

let libraries: [Target] = [
    library("CBOR", []),
    library("CTAP", ["CBOR", crypto]),
    library("CaBLE", ["CBOR", crypto, cryptoExtras]),
    library("WebAuthn", ["CBOR", "CTAP", "CPSL", crypto]),
    library("QRCode", ["CQREncode", "CPNG"]),
    library("Threads", []),
    library("QRScanning", ["CZBar", "CPNG", "CTurboJPEG", "Threads"]),
    library("SystemBus", ["CSystemd", "Threads"]),
    library("DesktopPortal", ["SystemBus"]),
    library("BLEAdvert", ["CaBLE", "SystemBus", "CBluetooth", "Threads"]),
    library(
        "DataChannel",
        [
            "CaBLE", "Threads", crypto, nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1"), nio("NIOWebSocket"),
            nio("NIOConcurrencyHelpers"), nioSSL,
        ]
    ),
    library("Authenticator", ["CTAP", crypto]),
    library("Vault", ["CBOR", "CTAP", "Authenticator", "Threads", crypto, cryptoExtras]),
    library("Pinentry", ["Threads"]),
    library("ServiceSupport", [logging, coreMetrics]),
    library("HybridSession", ["CaBLE", "CTAP", "BLEAdvert", "DataChannel"]),
    library("CeremonySupport", ["HybridSession", "BLEAdvert", "DataChannel", "ServiceSupport", argumentParser]),
    library(
        "RelayCore",
        [
            "CaBLE", crypto, nio("NIOCore"), nio("NIOPosix"), nio("NIOConcurrencyHelpers"), nio("NIOHTTP1"), nioSSL,
            logging, metrics,
        ]
    ),
    library("RelayCheck", ["CaBLE", "DataChannel", crypto, nio("NIOCore"), nio("NIOPosix"), nioSSL]),
    library(
        "LocalPage",
        ["QRCode", crypto, nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1"), nio("NIOConcurrencyHelpers")]
    ),
    library("VirtualBlueZ", ["SystemBus", "Threads"]),
]

let executables: [Target] = [
    executable(
        "HybridRelay",
        [
            "CaBLE", "RelayCore", "RelayCheck", "ServiceSupport", "CMalloc", nio("NIOCore"), nio("NIOPosix"), nioSSL,
            logging, coreMetrics,
        ]
    ),
    executable(
        "HybridClient",
        [
            "CaBLE", "CTAP", "WebAuthn", "QRCode", "LocalPage", "BLEAdvert", "DataChannel", "HybridSession",
            "CeremonySupport", "ServiceSupport",
        ]
    ),
    executable(
        "HybridAuth",
        [
            "CaBLE", "CTAP", "QRScanning", "DesktopPortal", "BLEAdvert", "DataChannel", "Authenticator", "Vault",
            "Pinentry", "HybridSession", "CeremonySupport", "RelayCheck", "ServiceSupport", crypto,
        ]
    ),
    executable(
        "HybridLab",
        [
            "CBOR", "CaBLE", "CTAP", "WebAuthn", "QRCode", "QRScanning", "CXCB", "BLEAdvert", "DataChannel",
            "Authenticator", "HybridSession", "CeremonySupport", "RelayCore", "VirtualBlueZ", "SystemBus",
            "ServiceSupport", crypto, x509, asn1, nioSSL, nio("NIOCore"), nio("NIOPosix"), nio("NIOConcurrencyHelpers"),
            logging,
        ]
    ),
]

let testTargets: [Target] = [
    .target(name: "TestSupport", dependencies: [], path: "Tests/TestSupport", swiftSettings: settings),
    tests("CBORTests", ["CBOR", "TestSupport"]),
    tests("CTAPTests", ["CTAP", "CBOR", "TestSupport", crypto]),
    tests("CaBLETests", ["CaBLE", "CBOR", "COpenSSL", "TestSupport", crypto, cryptoExtras]),
    tests("WebAuthnTests", ["WebAuthn", "CTAP", "CBOR", "TestSupport", crypto]),
    tests("QRCodeTests", ["QRCode", "CPNG", "TestSupport"]),
    tests("QRScanningTests", ["QRScanning", "QRCode", "CPNG", "CTurboJPEG", "TestSupport"]),
    tests("ThreadsTests", ["Threads"]),
    tests("DesktopPortalTests", ["DesktopPortal", "SystemBus", "VirtualBlueZ", "TestSupport"]),
    tests("ScanInputTests", ["QRCode", "CPNG", "SystemBus", "VirtualBlueZ", "TestSupport"]),
    tests("BLEAdvertTests", ["BLEAdvert", "CaBLE", "SystemBus", "VirtualBlueZ", "Threads", "TestSupport"]),
    tests(
        "DataChannelTests",
        [
            "DataChannel", "CaBLE", "RelayCore", "TestSupport", nio("NIOCore"), nio("NIOPosix"), nio("NIOEmbedded"),
            nio("NIOWebSocket"), nioSSL, crypto, logging,
        ]
    ),
    tests("AuthenticatorTests", ["Authenticator", "CTAP", "CBOR", "TestSupport", crypto]),
    tests("VaultTests", ["Vault", "Authenticator", "CTAP", "CBOR", "Threads", "TestSupport", crypto, cryptoExtras]),
    tests("PinentryTests", ["Pinentry", "TestSupport"]),
    tests("HybridSessionTests", ["HybridSession", "BLEAdvert", "DataChannel", "CaBLE", "CTAP", "TestSupport", crypto]),
    tests("CeremonySupportTests", ["CeremonySupport", "HybridSession", "ServiceSupport", "BLEAdvert"]),
    tests("ServiceSupportTests", ["ServiceSupport", "TestSupport", logging, coreMetrics]),
    tests(
        "RelayCoreTests",
        [
            "RelayCore", "CaBLE", "TestSupport", nio("NIOCore"), nio("NIOPosix"), nio("NIOEmbedded"), nio("NIOHTTP1"),
            nioSSL, logging,
        ]
    ),
    tests("RelayServiceTests", ["TestSupport"]),
    tests(
        "RelayCheckTests",
        ["RelayCheck", "RelayCore", "TestSupport", nio("NIOCore"), nio("NIOPosix"), nioSSL, crypto, logging]
    ),
    tests(
        "LocalPageTests",
        [
            "LocalPage", "QRCode", "TestSupport", crypto, nio("NIOCore"), nio("NIOPosix"), nio("NIOEmbedded"),
            nio("NIOHTTP1"),
        ]
    ),
    tests(
        "CeremonyTests",
        ["CaBLE", "CTAP", "CBOR", "DataChannel", "SystemBus", "VirtualBlueZ", "TestSupport", crypto],
        exclude: ["relying_party.py"]
    ),
    tests("ArchitectureTests", ["TestSupport"]),
]

let package = Package(
    name: "hybrid",
    products: [
        .library(name: "CBOR", targets: ["CBOR"]),
        .library(name: "CTAP", targets: ["CTAP"]),
        .library(name: "CaBLE", targets: ["CaBLE"]),
        .library(name: "WebAuthn", targets: ["WebAuthn"]),
        .library(name: "BLEAdvert", targets: ["BLEAdvert"]),
        .library(name: "DataChannel", targets: ["DataChannel"]),
        .library(name: "Authenticator", targets: ["Authenticator"]),
        .library(name: "HybridSession", targets: ["HybridSession"]),
        .library(name: "RelayCore", targets: ["RelayCore"]),
        .executable(name: "hybrid-relay", targets: ["HybridRelay"]),
        .executable(name: "hybrid-client", targets: ["HybridClient"]),
        .executable(name: "hybrid-auth", targets: ["HybridAuth"]),
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
    targets: systemLibraries + libraries + executables + testTargets,
    swiftLanguageModes: [.v6]
)
