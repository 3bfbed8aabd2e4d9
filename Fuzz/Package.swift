// swift-tools-version:5.4
// SPDX-License-Identifier: Apache-2.0
import Foundation
import PackageDescription

// A separate package, because its instrumented build must not affect the ordinary one. Use `scripts/fuzz` to build and
// run it: libFuzzer provides the main function, so the package does not link with other options.
//
// The script links the files and folders that `modules` lists into `Modules`, to compile them again here. Thus only this
// project's code is instrumented, targets have access to internal members, and code without parsers is not built.
//
// Later tools versions than 5.4 rename an executable's main function, which hides libFuzzer's.

let environment = ProcessInfo.processInfo.environment
let measuresCoverage = environment["HYBRID_FUZZ_COVERAGE"] != nil
/// True for the target `relay-tls`, the only one that needs the TLS library, which takes minutes to build.
let hasTLS = environment["HYBRID_FUZZ_TLS"] != nil

/// The `settings` of ../Package.swift as compiler options.
let language = [
    "-swift-version", "6", "-enable-upcoming-feature", "ExistentialAny", "-enable-upcoming-feature",
    "InternalImportsByDefault", "-enable-upcoming-feature", "MemberImportVisibility",
    // This tools version does not set the name, which `package` access requires.
    "-package-name", "hybrid",
]
/// Optimization as in a release build, with the checks of a debug build.
let speed = ["-O", "-assert-config", "Debug", "-enable-testing"]
let instruments =
    measuresCoverage
    ? ["-sanitize=fuzzer", "-profile-generate", "-profile-coverage-mapping"] : ["-sanitize=fuzzer,address"]
let settings: [SwiftSetting] = [.unsafeFlags(language + speed + instruments)]

func nio(_ module: String) -> Target.Dependency { .product(name: module, package: "swift-nio") }
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")

let boringTLS: [Target.Dependency] = hasTLS ? ["HybridBoringTLS"] : []

/// Returns the target for a module of the project or a part of its files.
func module(_ name: String, in group: String? = nil, _ dependencies: [Target.Dependency]) -> Target {
    let folder = name.hasPrefix("Hybrid") ? String(name.dropFirst("Hybrid".count)) : name
    return .target(
        name: name,
        dependencies: dependencies,
        path: ["Modules", group, folder].compactMap { $0 }.joined(separator: "/"),
        swiftSettings: settings
    )
}

let modules: [Target] = [
    module("TestSupport", []),
    .systemLibrary(
        name: "CHybridPSL",
        path: "Modules/Support/CLibraries/CHybridPSL",
        pkgConfig: "libpsl",
        providers: [.apt(["libpsl-dev"])]
    ),
    .systemLibrary(
        name: "CHybridZBar",
        path: "Modules/Support/CLibraries/CHybridZBar",
        pkgConfig: "zbar",
        providers: [.apt(["libzbar-dev"])]
    ),
    .systemLibrary(
        name: "CHybridZlib",
        path: "Modules/Support/CLibraries/CHybridZlib",
        pkgConfig: "zlib",
        providers: [.apt(["zlib1g-dev"])]
    ),
    .systemLibrary(
        name: "CHybridPNG",
        path: "Modules/Support/CLibraries/CHybridPNG",
        pkgConfig: "libpng",
        providers: [.apt(["libpng-dev"])]
    ),
    .systemLibrary(
        name: "CHybridTurboJPEG",
        path: "Modules/Support/CLibraries/CHybridTurboJPEG",
        pkgConfig: "libturbojpeg",
        providers: [.apt(["libturbojpeg0-dev"])]
    ),
    .systemLibrary(name: "CHybridLinux", path: "Modules/Support/CLibraries/CHybridLinux"),
    .systemLibrary(
        name: "CHybridPipeWire",
        path: "Modules/Support/CLibraries/CHybridPipeWire",
        pkgConfig: "libspa-0.2",
        providers: [.apt(["libspa-0.2-dev"])]
    ),
    .systemLibrary(name: "CHybridTSS2", path: "Modules/Support/CLibraries/CHybridTSS2"),
    module("HybridPrimitives", in: "Support", []),
    module("HybridCBOR", in: "Protocol", []),
    module("HybridCTAP", in: "Protocol", ["HybridPrimitives", "HybridCBOR", crypto]),
    module("HybridAge", in: "Protocol", ["HybridPrimitives", "HybridCBOR", "HybridCTAP", crypto]),
    module("HybridSecurityKey", in: "Protocol", ["HybridPrimitives", "HybridCBOR", "HybridCTAP", crypto]),
    module("HybridCaBLE", ["HybridPrimitives", "HybridCBOR", crypto, cryptoExtras]),
    module("HybridSSHAgent", in: "Protocol", ["HybridPrimitives", crypto, cryptoExtras]),
    module(
        "HybridKeyService",
        in: "Computer",
        ["HybridPrimitives", "HybridCBOR", "HybridCTAP", "HybridSSHAgent", crypto]
    ),
    module("HybridDeflate", in: "Support", ["CHybridZlib"]),
    module(
        "HybridWebAuthn",
        in: "Protocol",
        ["HybridPrimitives", "HybridCBOR", "HybridCTAP", "HybridDeflate", "CHybridPSL", crypto]
    ),
    module("HybridThreads", in: "Support", ["CHybridLinux"]),
    module(
        "HybridRelyingParty",
        in: "Protocol",
        ["HybridPrimitives", "HybridThreads", "HybridCBOR", "HybridCTAP", "HybridWebAuthn", crypto, cryptoExtras]
    ),
    module(
        "HybridQRScanning",
        in: "Phone",
        [
            "HybridPrimitives", "CHybridLinux", "CHybridPipeWire", "CHybridZBar", "CHybridPNG", "CHybridTurboJPEG",
            "HybridThreads",
        ]
    ),
    module("HybridDBus", in: "Support", []),
    module("HybridBLEAdvert", ["HybridCaBLE", "HybridDBus"]),
    module("HybridNetwork", in: "Transport", ["HybridPrimitives", crypto, nio("NIOCore"), nio("NIOHTTP1")]),
    module(
        "HybridDataChannel",
        in: "Transport",
        [
            "HybridPrimitives", "HybridThreads", "HybridCaBLE", "HybridNetwork", nio("NIOCore"), nio("NIOHTTP1"),
            nio("NIOWebSocket"),
        ]
    ),
    module("HybridLocalPage", in: "Computer", ["HybridPrimitives", crypto, nio("NIOHTTP1")]),
    module("HybridAuthenticator", in: "Phone", ["HybridPrimitives", "HybridCTAP", "HybridSSHAgent", crypto]),
    module(
        "HybridCredentialExchange",
        in: "Phone",
        ["HybridPrimitives", "HybridCTAP", "HybridDeflate", "HybridAuthenticator", crypto]
    ),
    module(
        "HybridTransfer",
        in: "Phone",
        [
            "HybridPrimitives", "HybridCTAP", "HybridCaBLE", "HybridAuthenticator", "HybridCredentialExchange", crypto,
        ]
    ),
    module("HybridTPM", in: "Phone", ["HybridPrimitives", "CHybridTSS2"]),
    module(
        "HybridVault",
        in: "Phone",
        [
            "HybridPrimitives", "HybridThreads", "HybridCBOR", "HybridCTAP", "HybridAuthenticator",
            "HybridCredentialExchange", "HybridTPM", "CHybridLinux", crypto, cryptoExtras,
        ]
    ),
    module("HybridPinentry", in: "Phone", ["HybridPrimitives"]),
    module("HybridAsk", in: "Phone", ["HybridPrimitives", "HybridPinentry"]),
    // The folder of a program has its whole name.
    .target(
        name: "HybridAuth",
        dependencies: ["HybridPrimitives"],
        path: "Modules/HybridAuth",
        swiftSettings: settings
    ),
    module("HybridVaultAgent", in: "Phone", ["HybridPrimitives", "HybridAuthenticator"]),
    module("HybridLineInput", ["HybridPrimitives"]),
    module("HybridPromptModel", ["HybridPrimitives"]),
    module(
        "HybridRelayCore",
        in: "Relay",
        ["HybridPrimitives", "HybridThreads", "HybridCaBLE", "CHybridLinux", crypto, nio("NIOCore"), logging, metrics]
            + boringTLS
    ),
]

let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let tlsModules = hasTLS ? [module("HybridBoringTLS", in: "Transport", [nioSSL])] : []
let tlsPackages: [Package.Dependency] =
    hasTLS ? [.package(url: "https://github.com/apple/swift-nio-ssl", .upToNextMinor(from: "2.37.6"))] : []

let package = Package(
    name: "hybrid-fuzz",
    products: [.executable(name: "fuzz", targets: ["Fuzz"])],
    dependencies: tlsPackages + [
        .package(url: "https://github.com/apple/swift-crypto", .upToNextMinor(from: "4.5.2")),
        .package(url: "https://github.com/apple/swift-log", .upToNextMinor(from: "1.16.2")),
        .package(url: "https://github.com/apple/swift-metrics", .upToNextMinor(from: "2.13.0")),
        .package(url: "https://github.com/apple/swift-nio", .upToNextMinor(from: "2.101.2")),
    ],
    targets: modules + tlsModules + [
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "HybridPrimitives", "HybridCBOR", "HybridCTAP", "HybridAge", "HybridSecurityKey", "HybridCaBLE",
                "HybridSSHAgent", "HybridKeyService",
                "HybridDeflate", "HybridWebAuthn", "HybridRelyingParty", "HybridQRScanning",
                "HybridDBus",
                "HybridBLEAdvert", "HybridNetwork", "HybridDataChannel", "HybridLocalPage",
                "HybridAuthenticator", "HybridCredentialExchange", "HybridTransfer", "HybridTPM", "HybridVault",
                "HybridVaultAgent", "HybridPinentry", "HybridAsk", "HybridAuth",
                "HybridLineInput", "HybridPromptModel", "HybridRelayCore", "TestSupport", crypto,
                cryptoExtras,
                logging, nio("NIOCore"),
                nio("NIOEmbedded"), nio("NIOHTTP1"), nio("NIOWebSocket"),
            ] + boringTLS,
            swiftSettings: settings,
            linkerSettings: [
                .unsafeFlags(["-use-ld=lld"] + instruments.filter { $0 != "-profile-coverage-mapping" })
            ]
        )
    ]
)
