// swift-tools-version:5.4
// SPDX-License-Identifier: Apache-2.0
import Foundation
import PackageDescription

// A package of its own, because its instrumented build must not touch the ordinary one. `scripts/fuzz` builds and
// runs it; by itself it does not link, since libFuzzer brings the main function.
//
// `Modules` holds links to the folders of ../Sources, compiled here a second time: so only this project's code is
// instrumented, targets see what is internal, and what parsers don't need (TLS, sockets, programs) is not built.
//
// Tools version 5.4 on purpose: later ones rename an executable's main function, and libFuzzer's is lost.

let measuresCoverage = ProcessInfo.processInfo.environment["HYBRID_FUZZ_COVERAGE"] != nil

/// As `settings` in ../Package.swift, in the words of the compiler.
let language = [
    "-swift-version", "6", "-enable-upcoming-feature", "ExistentialAny", "-enable-upcoming-feature",
    "InternalImportsByDefault", "-enable-upcoming-feature", "MemberImportVisibility",
    // These tools versions give no name, and what several modules share belongs to a package.
    "-package-name", "hybrid",
]
/// Optimised, for speed and because that is what is shipped; but with the checks of a debug build.
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

/// A module of the project, or those of its files that are fuzzed and what they need.
func module(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(
        name: name,
        dependencies: dependencies,
        path: "Modules/\(name)",
        swiftSettings: settings
    )
}

let modules: [Target] = [
    .systemLibrary(
        name: "CHybridPSL",
        path: "Modules/CHybridPSL",
        pkgConfig: "libpsl",
        providers: [.apt(["libpsl-dev"])]
    ),
    .systemLibrary(
        name: "CHybridZBar",
        path: "Modules/CHybridZBar",
        pkgConfig: "zbar",
        providers: [.apt(["libzbar-dev"])]
    ),
    .systemLibrary(
        name: "CHybridPNG",
        path: "Modules/CHybridPNG",
        pkgConfig: "libpng",
        providers: [.apt(["libpng-dev"])]
    ),
    .systemLibrary(
        name: "CHybridTurboJPEG",
        path: "Modules/CHybridTurboJPEG",
        pkgConfig: "libturbojpeg",
        providers: [.apt(["libturbojpeg0-dev"])]
    ),
    module("HybridCBOR", []),
    module("HybridCTAP", ["HybridCBOR", crypto]),
    module("HybridCaBLE", ["HybridCBOR", crypto, cryptoExtras]),
    module("HybridWebAuthn", ["HybridCBOR", "HybridCTAP", "CHybridPSL", crypto]),
    module("HybridThreads", []),
    module("HybridQRScanning", ["CHybridZBar", "CHybridPNG", "CHybridTurboJPEG", "HybridThreads"]),
    module("HybridSystemBus", []),
    module("HybridBLEAdvert", ["HybridCaBLE", "HybridSystemBus"]),
    module(
        "HybridDataChannel",
        ["HybridCaBLE", crypto, nio("NIOCore"), nio("NIOHTTP1"), nio("NIOWebSocket"), nio("NIOConcurrencyHelpers")]
    ),
    module("HybridLocalPage", [crypto, nio("NIOHTTP1")]),
    module("HybridAuthenticator", ["HybridCTAP", crypto]),
    module(
        "HybridVault",
        ["HybridCBOR", "HybridCTAP", "HybridAuthenticator", "HybridThreads", crypto, cryptoExtras]
    ),
    module(
        "HybridPinentry",
        []
    ),
    module(
        "HybridRelayCore",
        ["HybridCaBLE", crypto, nio("NIOCore"), nio("NIOConcurrencyHelpers"), logging, metrics]
    ),
]

let package = Package(
    name: "hybrid-fuzz",
    products: [.executable(name: "fuzz", targets: ["Fuzz"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", .upToNextMinor(from: "4.5.2")),
        .package(url: "https://github.com/apple/swift-log", .upToNextMinor(from: "1.16.2")),
        .package(url: "https://github.com/apple/swift-metrics", .upToNextMinor(from: "2.13.0")),
        .package(url: "https://github.com/apple/swift-nio", .upToNextMinor(from: "2.101.2")),
    ],
    targets: modules + [
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "HybridCBOR", "HybridCTAP", "HybridCaBLE", "HybridWebAuthn", "HybridQRScanning", "HybridSystemBus",
                "HybridBLEAdvert", "HybridDataChannel", "HybridLocalPage",
                "HybridAuthenticator", "HybridVault", "HybridPinentry", "HybridRelayCore", crypto, cryptoExtras,
                logging, nio("NIOCore"),
                nio("NIOEmbedded"), nio("NIOHTTP1"), nio("NIOWebSocket"),
            ],
            swiftSettings: settings,
            linkerSettings: [
                .unsafeFlags(["-use-ld=lld"] + instruments.filter { $0 != "-profile-coverage-mapping" })
            ]
        )
    ]
)
