// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// A separate package, so that the programs without a window are built without GTK.

// Set by CI only, so that warnings of newer compilers do not break users' builds.
let strictness: [SwiftSetting] =
    Context.environment["HYBRID_WARNINGS_AS_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)]
let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ] + strictness

let primitives: Target.Dependency = .product(name: "HybridPrimitives", package: "hybrid")
let program: Target.Dependency = .product(name: "HybridProgram", package: "hybrid")
let qrCode: Target.Dependency = .product(name: "HybridQRCode", package: "hybrid")

let package = Package(
    name: "hybrid-desktop",
    products: [.executable(name: "hybrid-prompt", targets: ["HybridPrompt"])],
    dependencies: [.package(name: "hybrid", path: "..")],
    targets: [
        .systemLibrary(
            name: "CHybridGTK",
            path: "Sources/CHybridGTK",
            pkgConfig: "gtk4",
            providers: [.apt(["libgtk-4-dev"])]
        ),
        .target(
            name: "HybridPromptModel",
            dependencies: [primitives, program, qrCode],
            path: "Sources/PromptModel",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "HybridPrompt",
            dependencies: ["HybridPromptModel", "CHybridGTK", primitives, program, qrCode],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PromptModelTests",
            dependencies: ["HybridPromptModel", primitives, qrCode],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
