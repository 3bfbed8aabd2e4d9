// swift-tools-version:5.4
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// A package of its own, because its instrumented build must not touch the ordinary one. `scripts/fuzz` builds
// and runs it; by itself it does not link, since libFuzzer brings the main function.
//
// Tools version 5.4 on purpose: later ones rename an executable's main function, and libFuzzer's is lost.

func fuzzer(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies)
}

func module(_ name: String) -> Target.Dependency { .product(name: name, package: "hybrid") }

let package = Package(
    name: "hybrid-fuzz",
    products: [
        .executable(name: "fuzz-cbor", targets: ["FuzzCBOR"]),
        .executable(name: "fuzz-qr", targets: ["FuzzQR"]),
        .executable(name: "fuzz-service-data", targets: ["FuzzServiceData"]),
        .executable(name: "fuzz-post-handshake", targets: ["FuzzPostHandshake"]),
        .executable(name: "fuzz-ctap-request", targets: ["FuzzCTAPRequest"]),
        .executable(name: "fuzz-ctap-response", targets: ["FuzzCTAPResponse"]),
        .executable(name: "fuzz-websocket-request", targets: ["FuzzWebSocketRequest"]),
        .executable(name: "fuzz-websocket-frames", targets: ["FuzzWebSocketFrames"]),
    ],
    dependencies: [
        .package(name: "hybrid", path: ".."),
        .package(url: "https://github.com/apple/swift-nio", .upToNextMinor(from: "2.101.2")),
    ],
    targets: [
        .target(name: "FuzzInput"),
        fuzzer("FuzzCBOR", ["FuzzInput", module("CBOR")]),
        fuzzer("FuzzQR", ["FuzzInput", module("CaBLE")]),
        fuzzer("FuzzServiceData", ["FuzzInput", module("CaBLE")]),
        fuzzer("FuzzPostHandshake", ["FuzzInput", module("CaBLE")]),
        fuzzer("FuzzCTAPRequest", ["FuzzInput", module("CTAP")]),
        fuzzer("FuzzCTAPResponse", ["FuzzInput", module("CTAP")]),
        fuzzer(
            "FuzzWebSocketRequest",
            ["FuzzInput", module("CaBLE"), module("RelayCore"), .product(name: "NIOCore", package: "swift-nio")]
        ),
        fuzzer(
            "FuzzWebSocketFrames",
            ["FuzzInput", module("RelayCore"), .product(name: "NIOCore", package: "swift-nio")]
        ),
    ]
)
