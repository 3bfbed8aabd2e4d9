// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// A separate package, so that the other programs are built without an HTTP framework.

// Set by CI only, so that warnings of newer compilers do not break users' builds.
let strictness: [SwiftSetting] =
    Context.environment["HYBRID_WARNINGS_AS_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)]
let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ] + strictness

let package = Package(
    name: "hybrid-shiny",
    platforms: [.macOS(.v14)],
    products: [.executable(name: "hybrid-shiny", targets: ["HybridShiny"])],
    dependencies: [
        .package(name: "hybrid", path: ".."),
        .package(url: "https://github.com/hummingbird-project/hummingbird", .upToNextMinor(from: "2.28.1"), traits: []),
        .package(url: "https://github.com/apple/swift-argument-parser", .upToNextMinor(from: "1.8.2")),
        .package(url: "https://github.com/apple/swift-crypto", .upToNextMinor(from: "4.5.2")),
        .package(url: "https://github.com/apple/swift-http-types", .upToNextMinor(from: "1.8.0")),
        .package(url: "https://github.com/apple/swift-log", .upToNextMinor(from: "1.16.2")),
        .package(url: "https://github.com/apple/swift-nio", .upToNextMinor(from: "2.101.2")),
    ],
    targets: [
        .target(
            name: "HybridShinyServer",
            dependencies: [
                .product(name: "HybridRelyingParty", package: "hybrid"),
                .product(name: "HybridWebAuthn", package: "hybrid"),
                .product(name: "HybridPrimitives", package: "hybrid"),
                .product(name: "HybridCTAP", package: "hybrid"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Sources/ShinyServer",
            resources: [
                .embedInCode("Page/index.html"), .embedInCode("Page/shiny.css"), .embedInCode("Page/shiny.js"),
                .embedInCode("Page/passkeys.js"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "HybridShiny",
            dependencies: [
                "HybridShinyServer",
                .product(name: "HybridWebAuthn", package: "hybrid"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ShinyTests",
            dependencies: [
                "HybridShinyServer",
                .product(name: "HybridWebAuthn", package: "hybrid"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
