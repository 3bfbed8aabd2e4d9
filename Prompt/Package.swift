// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// A separate package, so that the programs without a window are built without GTK.
//
// `Modules` contains links to files and folders of ../Sources, which are compiled again here. Thus this package needs no
// other package, and code that the window does not use is not built.

// Set by CI only, so that warnings of newer compilers do not break users' builds.
let strictness: [SwiftSetting] =
    Context.environment["HYBRID_WARNINGS_AS_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)]
let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ] + strictness

/// Returns the target for a module of the project or a part of its files.
func module(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: "Modules/\(name)", swiftSettings: settings)
}

let package = Package(
    name: "hybrid-prompt",
    products: [.executable(name: "hybrid-prompt", targets: ["HybridPrompt"])],
    targets: [
        .systemLibrary(
            name: "CHybridGTK",
            path: "Sources/CHybridGTK",
            pkgConfig: "gtk4",
            providers: [.apt(["libgtk-4-dev"])]
        ),
        .systemLibrary(
            name: "CHybridQREncode",
            path: "Modules/CHybridQREncode",
            pkgConfig: "libqrencode",
            providers: [.apt(["libqrencode-dev"])]
        ),
        .systemLibrary(name: "CHybridLinux", path: "Modules/CHybridLinux"),
        module("HybridPrimitives", []),
        module("HybridQRCode", ["CHybridQREncode"]),
        module("HybridCommandSupport", ["HybridPrimitives", "CHybridLinux"]),
        .target(
            name: "HybridPromptModel",
            dependencies: ["HybridPrimitives", "HybridQRCode", "HybridCommandSupport"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "HybridPrompt",
            dependencies: [
                "HybridPromptModel", "HybridPrimitives", "HybridQRCode", "HybridCommandSupport", "CHybridGTK",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PromptModelTests",
            dependencies: ["HybridPromptModel", "HybridPrimitives", "HybridQRCode"],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
