// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import Glibc
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

// hybrid-ask and hybrid-passkeys need libadwaita 1.5, of which this is the first version with dialogs inside windows.
// Systems without it, such as Debian 12, build hybrid-prompt, which needs only GTK 4.8, and all models with their tests.
// SwiftPM remembers the result for a manifest: after an installation of libadwaita, build with `--manifest-cache none`.
let hasAdwaita = access("/usr/include/libadwaita-1/adw-alert-dialog.h", R_OK) == 0

let primitives: Target.Dependency = .product(name: "HybridPrimitives", package: "hybrid")
let program: Target.Dependency = .product(name: "HybridProgram", package: "hybrid")
let qrScanning: Target.Dependency = .product(name: "HybridQRScanning", package: "hybrid")
let qrCode: Target.Dependency = .product(name: "HybridQRCode", package: "hybrid")

let prompt: [Target] = [
    .systemLibrary(
        name: "CHybridGTK",
        path: "Sources/CHybridGTK",
        pkgConfig: "gtk4",
        providers: [.apt(["libgtk-4-dev"])]
    ),
    .executableTarget(
        name: "HybridPrompt",
        dependencies: ["HybridPromptModel", "HybridLineInput", "CHybridGTK", primitives, program, qrCode],
        swiftSettings: settings
    ),
]

let models: [Target] = [
    .systemLibrary(name: "CHybridIntl", path: "Sources/CHybridIntl"),
    .target(
        name: "HybridTranslation",
        dependencies: ["CHybridIntl"],
        path: "Sources/Translation",
        swiftSettings: settings
    ),
    .target(
        name: "HybridLineInput",
        dependencies: [primitives, program],
        path: "Sources/LineInput",
        swiftSettings: settings
    ),
    .target(
        name: "HybridPromptModel",
        dependencies: [primitives, program, qrCode],
        path: "Sources/PromptModel",
        swiftSettings: settings
    ),
    .target(
        name: "HybridAskModel",
        dependencies: ["HybridTranslation", primitives, program],
        path: "Sources/AskModel",
        swiftSettings: settings
    ),
    .target(
        name: "HybridPasskeysModel",
        dependencies: ["HybridTranslation", primitives, program, qrCode],
        path: "Sources/PasskeysModel",
        swiftSettings: settings
    ),
]

let adwaita: [Target] = [
    .systemLibrary(
        name: "CHybridAdwaita",
        path: "Sources/CHybridAdwaita",
        pkgConfig: "libadwaita-1",
        providers: [.apt(["libadwaita-1-dev"])]
    ),
    .target(
        name: "HybridWidgets",
        dependencies: ["HybridTranslation", "CHybridAdwaita"],
        path: "Sources/Widgets",
        swiftSettings: settings
    ),
    // The module HybridAsk is the other side of its protocol, in hybrid-auth.
    .executableTarget(
        name: "HybridSheet",
        dependencies: [
            "HybridAskModel", "HybridLineInput", "HybridTranslation", "HybridWidgets", "CHybridAdwaita", primitives,
            program,
        ],
        resources: [.embedInCode("Resources/sheet.ui"), .embedInCode("Resources/sheet.css")],
        swiftSettings: settings
    ),
    .executableTarget(
        name: "HybridPasskeys",
        dependencies: [
            "HybridPasskeysModel", "HybridTranslation", "HybridWidgets", "CHybridAdwaita", primitives, program,
            qrScanning, qrCode,
        ],
        resources: [
            .embedInCode("Interface/care.ui"), .embedInCode("Interface/computers.ui"),
            .embedInCode("Interface/passkeys.ui"), .embedInCode("Interface/scan.ui"),
            .embedInCode("Interface/style.css"), .embedInCode("Interface/transfer.ui"),
            .embedInCode("Interface/welcome.ui"), .embedInCode("Interface/window.ui"),
        ],
        swiftSettings: settings
    ),
]

let tests: [Target] = [
    .testTarget(name: "TranslationTests", dependencies: ["HybridTranslation"], swiftSettings: settings),
    .testTarget(name: "LineInputTests", dependencies: ["HybridLineInput", primitives], swiftSettings: settings),
    .testTarget(
        name: "PromptModelTests",
        dependencies: ["HybridPromptModel", primitives, qrCode],
        swiftSettings: settings
    ),
    .testTarget(name: "AskModelTests", dependencies: ["HybridAskModel", primitives], swiftSettings: settings),
    .testTarget(
        name: "PasskeysModelTests",
        dependencies: ["HybridPasskeysModel", primitives, qrCode],
        swiftSettings: settings
    ),
]

let package = Package(
    name: "hybrid-desktop",
    products: [.executable(name: "hybrid-prompt", targets: ["HybridPrompt"])]
        + (hasAdwaita
            ? [
                .executable(name: "hybrid-ask", targets: ["HybridSheet"]),
                .executable(name: "hybrid-passkeys", targets: ["HybridPasskeys"]),
            ] : []),
    dependencies: [.package(name: "hybrid", path: "..")],
    targets: models + prompt + (hasAdwaita ? adwaita : []) + tests,
    swiftLanguageModes: [.v6]
)
