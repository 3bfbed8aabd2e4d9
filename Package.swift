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

func library(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource]? = nil) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: settings)
}

// With --static-swift-stdlib, Swift exports all symbols: the programs are larger, and start a millisecond later.
let linking: [LinkerSetting] = [.unsafeFlags(["-Xlinker", "--no-export-dynamic"])]

func executable(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name,
        dependencies: dependencies + [argumentParser],
        swiftSettings: settings,
        linkerSettings: linking
    )
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: settings)
}

let systemLibraries: [Target] = [
    .systemLibrary(
        name: "CHybridSystemd",
        path: "Sources/CLibraries/CHybridSystemd",
        pkgConfig: "libsystemd",
        providers: [.apt(["libsystemd-dev"])]
    ),
    // Headers only, for the kernel's Bluetooth sockets; no library is linked.
    .systemLibrary(
        name: "CHybridBluetooth",
        path: "Sources/CLibraries/CHybridBluetooth",
        providers: [.apt(["libbluetooth-dev"])]
    ),
    .systemLibrary(
        name: "CHybridQREncode",
        path: "Sources/CLibraries/CHybridQREncode",
        pkgConfig: "libqrencode",
        providers: [.apt(["libqrencode-dev"])]
    ),
    .systemLibrary(
        name: "CHybridZBar",
        path: "Sources/CLibraries/CHybridZBar",
        pkgConfig: "zbar",
        providers: [.apt(["libzbar-dev"])]
    ),
    .systemLibrary(
        name: "CHybridPNG",
        path: "Sources/CLibraries/CHybridPNG",
        pkgConfig: "libpng",
        providers: [.apt(["libpng-dev"])]
    ),
    .systemLibrary(
        name: "CHybridTurboJPEG",
        path: "Sources/CLibraries/CHybridTurboJPEG",
        pkgConfig: "libturbojpeg",
        providers: [.apt(["libturbojpeg0-dev"])]
    ),
    // malloc.h, which is not part of the Glibc module.
    .systemLibrary(name: "CHybridMalloc", path: "Sources/CLibraries/CHybridMalloc"),
    // Calls of the kernel that are variadic or have no function in glibc.
    .systemLibrary(name: "CHybridLinux", path: "Sources/CLibraries/CHybridLinux"),
    .systemLibrary(
        name: "CHybridXCB",
        path: "Sources/CLibraries/CHybridXCB",
        pkgConfig: "xcb",
        providers: [.apt(["libxcb1-dev"])]
    ),
    .systemLibrary(
        name: "CHybridPSL",
        path: "Sources/CLibraries/CHybridPSL",
        pkgConfig: "libpsl",
        providers: [.apt(["libpsl-dev"])]
    ),
    .systemLibrary(
        name: "CHybridZlib",
        path: "Sources/CLibraries/CHybridZlib",
        pkgConfig: "zlib",
        providers: [.apt(["zlib1g-dev"])]
    ),
    .systemLibrary(
        name: "CHybridOpenSSL",
        path: "Sources/CLibraries/CHybridOpenSSL",
        pkgConfig: "libssl",
        providers: [.apt(["libssl-dev"])]
    ),
    // Headers only; the libraries are loaded at run time.
    .systemLibrary(
        name: "CHybridTSS2",
        path: "Sources/CLibraries/CHybridTSS2",
        providers: [.apt(["libtss2-dev"])]
    ),
]

let libraries: [Target] = [
    library("HybridPrimitives", []),
    library("HybridThreads", []),
    library("HybridCBOR", []),
    library("HybridCTAP", ["HybridPrimitives", "HybridCBOR", crypto]),
    library("HybridCTAPHID", ["HybridCTAP"]),
    library("HybridSecurityKey", ["HybridPrimitives", "HybridCBOR", "HybridCTAP", "HybridCTAPHID", crypto]),
    library("HybridCaBLE", ["HybridPrimitives", "HybridCBOR", crypto, cryptoExtras]),
    library("HybridSSHAgent", ["HybridPrimitives", crypto, cryptoExtras]),
    library("HybridDeflate", ["CHybridZlib"]),
    library("HybridWebAuthn", ["HybridPrimitives", "HybridCBOR", "HybridCTAP", "HybridDeflate", "CHybridPSL", crypto]),
    library(
        "HybridRelyingParty",
        [
            "HybridPrimitives", "HybridThreads", "HybridCBOR", "HybridCTAP", "HybridWebAuthn", crypto, cryptoExtras,
            x509, asn1,
        ]
    ),
    library("HybridQRCode", ["CHybridQREncode", "CHybridPNG"]),
    library(
        "HybridQRScanning",
        ["HybridPrimitives", "CHybridZBar", "CHybridPNG", "CHybridTurboJPEG", "HybridThreads"]
    ),
    library("HybridSystemBus", ["CHybridSystemd", "CHybridLinux", "HybridThreads"]),
    library("HybridDesktopPortal", ["HybridPrimitives", "HybridSystemBus"]),
    library(
        "HybridBLEAdvert",
        ["HybridPrimitives", "HybridCaBLE", "HybridSystemBus", "CHybridBluetooth", "HybridThreads"]
    ),
    library(
        "HybridDataChannel",
        [
            "HybridPrimitives", "HybridCaBLE", "HybridThreads", crypto, nio("NIOCore"), nio("NIOPosix"),
            nio("NIOHTTP1"),
            nio("NIOWebSocket"),
            nioSSL,
        ]
    ),
    library("HybridAuthenticator", ["HybridPrimitives", "HybridCTAP", "HybridSSHAgent", crypto]),
    library("HybridTPM", ["HybridPrimitives", "CHybridTSS2"]),
    library(
        "HybridVault",
        [
            "HybridPrimitives", "HybridThreads", "HybridCBOR", "HybridCTAP", "HybridDeflate", "HybridAuthenticator",
            "HybridTPM", crypto, cryptoExtras,
        ]
    ),
    library("HybridPinentry", ["HybridPrimitives", "HybridThreads"]),
    library(
        "HybridCommandSupport",
        ["HybridThreads", "HybridPrimitives", "CHybridLinux", argumentParser, logging, coreMetrics]
    ),
    library(
        "HybridSession",
        ["HybridThreads", "HybridPrimitives", "HybridCaBLE", "HybridCTAP", "HybridBLEAdvert", "HybridDataChannel"]
    ),
    library(
        "HybridDoctor",
        [
            "HybridPrimitives", "HybridThreads", "HybridCaBLE", "HybridBLEAdvert", "HybridDataChannel",
            "HybridCommandSupport", "HybridSession", argumentParser,
        ]
    ),
    library(
        "HybridPhoneLinks",
        [
            "HybridPrimitives", "HybridThreads", "HybridCBOR", "HybridCaBLE", "HybridSystemBus", "HybridDataChannel",
            "HybridCommandSupport", "HybridSession", crypto,
        ]
    ),
    library(
        "HybridVaultAgent",
        ["HybridPrimitives", "HybridThreads", "HybridSystemBus", "HybridAuthenticator", "HybridCommandSupport"]
    ),
    library(
        "HybridRelayCore",
        [
            "HybridThreads", "HybridPrimitives", "HybridCaBLE", "CHybridLinux", crypto, nio("NIOCore"),
            nio("NIOPosix"),
            nio("NIOHTTP1"),
            nioSSL,
            logging, metrics,
        ]
    ),
    library(
        "HybridRelayCheck",
        ["HybridPrimitives", "HybridCaBLE", "HybridDataChannel", crypto, nio("NIOCore"), nio("NIOPosix")]
    ),
    library(
        "HybridLocalPage",
        [
            "HybridPrimitives", "HybridThreads", "HybridQRCode", crypto, nio("NIOCore"), nio("NIOPosix"),
            nio("NIOHTTP1"),
        ],
        resources: [.embedInCode("Page/page.js"), .embedInCode("Page/page.css")]
    ),
    library(
        "HybridClientCeremony",
        [
            "HybridPrimitives", "HybridThreads", "HybridCBOR", "HybridCTAP", "HybridCaBLE", "HybridWebAuthn",
            "HybridQRCode", "HybridBLEAdvert", "HybridDataChannel", "HybridCommandSupport", "HybridSession",
            "HybridLocalPage", argumentParser, crypto,
        ]
    ),
    library(
        "HybridKeyService",
        [
            "HybridPrimitives", "HybridThreads", "HybridCBOR", "HybridCTAP", "HybridCTAPHID", "HybridSecurityKey",
            "HybridSSHAgent", "HybridCommandSupport", crypto,
        ]
    ),
    library("HybridUHIDService", ["HybridThreads", "CHybridLinux", "CHybridSystemd"]),
    library("HybridVirtualBlueZ", ["HybridPrimitives", "HybridSystemBus", "HybridThreads"]),
]

let executables: [Target] = [
    executable(
        "HybridRelay",
        [
            "HybridDataChannel", "HybridPrimitives", "HybridThreads", "HybridCaBLE", "HybridRelayCore",
            "HybridRelayCheck", "HybridCommandSupport",
            "CHybridMalloc",
            nio("NIOCore"),
            logging, coreMetrics,
        ]
    ),
    executable(
        "HybridClient",
        [
            "HybridThreads", "HybridPrimitives", "HybridCaBLE", "HybridCTAP", "HybridWebAuthn", "HybridLocalPage",
            "HybridBLEAdvert",
            "HybridDataChannel", "HybridSession",
            "HybridCommandSupport", "HybridDoctor", "HybridClientCeremony", "HybridKeyService",
        ]
    ),
    executable(
        "HybridKey",
        [
            "HybridThreads", "HybridPrimitives", "HybridCTAP", "HybridCTAPHID", "HybridSecurityKey", "HybridCaBLE",
            "HybridSSHAgent", "HybridWebAuthn", "HybridLocalPage", "HybridBLEAdvert", "HybridDataChannel",
            "HybridSession", "HybridCommandSupport", "HybridClientCeremony", "HybridKeyService",
        ]
    ),
    // Without the argument parser, which imports Foundation.
    .executableTarget(
        name: "HybridUHID",
        dependencies: ["HybridPrimitives", "HybridUHIDService", "CHybridLinux", "CHybridSystemd"],
        swiftSettings: settings,
        linkerSettings: linking
    ),
    executable(
        "HybridAuth",
        [
            "HybridPrimitives", "HybridThreads", "HybridCaBLE", "HybridCTAP", "HybridSSHAgent", "HybridQRScanning",
            "HybridSystemBus", "HybridDesktopPortal", "HybridBLEAdvert",
            "HybridDataChannel", "HybridAuthenticator", "HybridTPM", "HybridVault",
            "HybridPinentry", "HybridSession", "HybridDoctor", "HybridPhoneLinks", "HybridVaultAgent",
            "HybridRelayCheck", "HybridCommandSupport",
        ]
    ),
    executable(
        "HybridLab",
        [
            "HybridThreads", "HybridPrimitives", "HybridCBOR", "HybridCaBLE", "HybridCTAP", "HybridWebAuthn",
            "HybridRelyingParty", "HybridSSHAgent", "HybridQRCode", "HybridQRScanning",
            "CHybridXCB", "HybridBLEAdvert", "HybridDataChannel",
            "HybridAuthenticator", "HybridSession", "HybridPhoneLinks", "HybridRelayCore", "HybridVirtualBlueZ",
            "HybridSystemBus",
            "HybridCommandSupport", crypto, x509, asn1, nio("NIOCore"),
            nio("NIOPosix"),
            nioSSL, logging,
        ]
    ),
]

let testTargets: [Target] = [
    .target(name: "TestSupport", dependencies: [], path: "Tests/TestSupport", swiftSettings: settings),
    .target(
        name: "IntegrationTestSupport",
        dependencies: [
            "HybridPrimitives", "HybridRelayCore", "HybridSystemBus", "HybridVirtualBlueZ", nio("NIOCore"), logging,
        ],
        path: "Tests/IntegrationTestSupport",
        swiftSettings: settings
    ),
    .target(
        name: "OpenSSLTestSupport",
        dependencies: ["CHybridOpenSSL"],
        path: "Tests/OpenSSLTestSupport",
        swiftSettings: settings
    ),
    tests("CBORTests", ["HybridCBOR", "TestSupport"]),
    tests("CTAPTests", ["HybridCTAP", "HybridCBOR", "TestSupport", crypto]),
    tests("CTAPHIDTests", ["HybridCTAPHID", "HybridCTAP", "TestSupport"]),
    tests(
        "SecurityKeyTests",
        ["HybridSecurityKey", "HybridCTAPHID", "HybridCTAP", "HybridCBOR", "TestSupport", crypto],
        exclude: ["fido2_client.py", "libfido2_client.py"]
    ),
    tests(
        "CaBLETests",
        ["HybridPrimitives", "HybridCaBLE", "HybridCBOR", "CHybridOpenSSL", "TestSupport", crypto, cryptoExtras]
    ),
    tests("SSHAgentTests", ["HybridPrimitives", "HybridSSHAgent", "TestSupport", crypto, cryptoExtras]),
    tests("DeflateTests", ["HybridDeflate", "TestSupport"]),
    tests("WebAuthnTests", ["HybridPrimitives", "HybridWebAuthn", "HybridCTAP", "HybridCBOR", "TestSupport", crypto]),
    tests(
        "RelyingPartyTests",
        [
            "HybridPrimitives", "HybridRelyingParty", "HybridAuthenticator", "HybridWebAuthn", "HybridCTAP",
            "HybridCBOR", "TestSupport", crypto, cryptoExtras, x509, asn1,
        ],
        exclude: ["verdicts.py"]
    ),
    tests("QRCodeTests", ["HybridQRCode", "CHybridPNG", "TestSupport"]),
    tests("QRScanningTests", ["HybridQRScanning", "HybridQRCode", "CHybridPNG", "CHybridTurboJPEG", "TestSupport"]),
    tests("ThreadsTests", ["HybridThreads"]),
    tests("DesktopPortalTests", ["HybridDesktopPortal", "HybridSystemBus", "HybridVirtualBlueZ", "TestSupport"]),
    tests("ScanInputTests", ["HybridQRCode", "CHybridPNG", "HybridSystemBus", "HybridVirtualBlueZ", "TestSupport"]),
    tests(
        "BLEAdvertTests",
        [
            "HybridPrimitives", "HybridBLEAdvert", "HybridCaBLE", "HybridSystemBus", "HybridVirtualBlueZ",
            "HybridThreads", "IntegrationTestSupport", "TestSupport",
        ]
    ),
    tests(
        "DataChannelTests",
        [
            "HybridPrimitives", "HybridDataChannel", "HybridCaBLE", "HybridRelayCore", "IntegrationTestSupport",
            "TestSupport", nio("NIOCore"), nio("NIOPosix"),
            nio("NIOEmbedded"),
            nio("NIOWebSocket"), nioSSL, crypto, logging,
        ]
    ),
    tests(
        "AuthenticatorTests",
        [
            "HybridPrimitives", "HybridAuthenticator", "HybridCTAP", "HybridSSHAgent", "HybridCBOR", "TestSupport",
            crypto,
        ]
    ),
    tests("TPMTests", ["HybridPrimitives", "HybridTPM", "TestSupport"]),
    tests(
        "VaultTests",
        [
            "HybridPrimitives", "HybridVault", "HybridAuthenticator", "HybridCTAP", "HybridCBOR", "HybridDeflate",
            "HybridThreads", "HybridTPM", "TestSupport", crypto,
        ]
    ),
    tests("PinentryTests", ["HybridPrimitives", "HybridPinentry", "TestSupport"]),
    tests(
        "HybridSessionTests",
        [
            "HybridPrimitives", "HybridThreads", "HybridSession", "HybridBLEAdvert", "HybridDataChannel", "HybridCaBLE",
            "HybridCTAP", "TestSupport", crypto,
        ]
    ),
    tests(
        "ClientCeremonyTests",
        [
            "HybridPrimitives", "HybridThreads", "HybridCBOR", "HybridCTAP", "HybridCaBLE", "HybridDataChannel",
            "HybridCommandSupport", "HybridSession", "HybridClientCeremony", "TestSupport", crypto,
        ]
    ),
    tests(
        "PhoneLinksTests",
        [
            "HybridPrimitives", "HybridThreads", "HybridPhoneLinks", "HybridSession", "HybridCaBLE",
            "HybridCommandSupport", "HybridDataChannel", "HybridSystemBus", "HybridVirtualBlueZ", "HybridRelayCore",
            "IntegrationTestSupport", "TestSupport", nio("NIOCore"),
        ]
    ),
    tests(
        "VaultAgentTests",
        [
            "HybridPrimitives", "HybridThreads", "HybridVaultAgent", "HybridAuthenticator", "HybridCommandSupport",
            "HybridSystemBus", "HybridVirtualBlueZ", "TestSupport",
        ]
    ),
    tests(
        "CommandSupportTests",
        ["HybridThreads", "HybridPrimitives", "HybridCommandSupport", "TestSupport", logging, coreMetrics]
    ),
    tests(
        "RelayCoreTests",
        [
            "HybridThreads", "HybridRelayCore", "HybridCaBLE", "IntegrationTestSupport", "OpenSSLTestSupport",
            "TestSupport",
            nio("NIOCore"), nio("NIOPosix"), nio("NIOEmbedded"),
            nio("NIOHTTP1"),
            nioSSL, logging,
        ]
    ),
    tests("RelayServiceTests", ["TestSupport"]),
    tests(
        "RelayCheckTests",
        [
            "HybridPrimitives", "HybridDataChannel", "HybridRelayCheck", "HybridRelayCore", "IntegrationTestSupport",
            "TestSupport", nio("NIOCore"), nio("NIOPosix"), nioSSL, crypto,
        ]
    ),
    tests(
        "LocalPageTests",
        [
            "HybridLocalPage", "HybridQRCode", "TestSupport", nio("NIOCore"),
            nio("NIOEmbedded"),
            nio("NIOHTTP1"),
        ]
    ),
    tests(
        "CeremonyTests",
        [
            "HybridPrimitives", "HybridCaBLE", "HybridCTAP", "HybridCBOR", "HybridDataChannel", "HybridSystemBus",
            "HybridSSHAgent", "HybridKeyService", "HybridVirtualBlueZ", "HybridSession", "HybridPhoneLinks",
            "IntegrationTestSupport", "TestSupport", crypto,
        ],
        exclude: ["relying_party.py"]
    ),
    tests(
        "HybridKeyTests",
        [
            "HybridPrimitives", "HybridThreads", "HybridCTAP", "HybridCTAPHID", "HybridSecurityKey",
            "HybridCommandSupport", "HybridSSHAgent", "HybridKeyService", "TestSupport", crypto,
        ],
        exclude: ["key_client.py", "key_phone.py"]
    ),
    tests("UHIDServiceTests", ["HybridThreads", "HybridUHIDService", "TestSupport"]),
    tests("ArchitectureTests", ["TestSupport"]),
]

let package = Package(
    name: "hybrid",
    products: [
        .library(name: "HybridCBOR", targets: ["HybridCBOR"]),
        .library(name: "HybridCTAP", targets: ["HybridCTAP"]),
        .library(name: "HybridCTAPHID", targets: ["HybridCTAPHID"]),
        .library(name: "HybridSecurityKey", targets: ["HybridSecurityKey"]),
        .library(name: "HybridCaBLE", targets: ["HybridCaBLE"]),
        .library(name: "HybridSSHAgent", targets: ["HybridSSHAgent"]),
        .library(name: "HybridWebAuthn", targets: ["HybridWebAuthn"]),
        .library(name: "HybridRelyingParty", targets: ["HybridRelyingParty"]),
        .library(name: "HybridBLEAdvert", targets: ["HybridBLEAdvert"]),
        .library(name: "HybridDataChannel", targets: ["HybridDataChannel"]),
        .library(name: "HybridAuthenticator", targets: ["HybridAuthenticator"]),
        .library(name: "HybridSession", targets: ["HybridSession"]),
        .library(name: "HybridRelayCore", targets: ["HybridRelayCore"]),
        .executable(name: "hybrid-relay", targets: ["HybridRelay"]),
        .executable(name: "hybrid-client", targets: ["HybridClient"]),
        .executable(name: "hybrid-auth", targets: ["HybridAuth"]),
        .executable(name: "hybrid-key", targets: ["HybridKey"]),
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
    targets: systemLibraries + libraries + executables + testTargets,
    swiftLanguageModes: [.v6]
)
