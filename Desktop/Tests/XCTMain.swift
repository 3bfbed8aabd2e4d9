// SPDX-License-Identifier: Apache-2.0

import Testing

/// The entry point of all tests. With this file, a build needs no index of the tests.
@main
struct TestEntryPoint {
    static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
