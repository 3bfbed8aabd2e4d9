// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("The targets and the table of ARCHITECTURE.md", .timeLimit(.minutes(10)))
struct TargetTests {
    let package: PackageDescription
    let table: TargetTable

    init() async throws {
        package = try await PackageDescription.read()
        table = try TargetTable.read()
    }

    @Test("name the same libraries, each once")
    func sameTargets() {
        #expect(package.libraries.count >= 15)
        #expect(table.rows.map(\.target).sorted() == package.libraries.map(\.name).sorted())
    }

    @Test("agree on who may import whom")
    func sameDependencies() throws {
        for library in package.libraries {
            let row = try #require(table[library.name], "\(library.name) is not in the table")
            #expect(
                library.local.subtracting(row.mayImport) == [],
                "\(library.name) depends on more than the table says"
            )
            #expect(row.mayImport.subtracting(library.local) == [], "the table of \(library.name) allows what it lacks")
        }
    }

    @Test("let arrows run only to what stands above")
    func order() {
        let systemLibraries = Set(package.targets.filter { $0.kind == "system" }.map(\.name))
        var above = systemLibraries
        for row in table.rows {
            #expect(row.mayImport.subtracting(above) == [], "\(row.target) is imported from below")
            above.insert(row.target)
        }
        above = systemLibraries
        for library in package.libraries {
            #expect(library.local.subtracting(above) == [], "\(library.name) depends on what stands below it")
            above.insert(library.name)
        }
    }

    @Test("keep executables and tests out of what others depend on")
    func leaves() {
        let leaves = Set(package.targets.filter { $0.kind == "executable" || $0.kind == "test" }.map(\.name))
        #expect(leaves.count > 10)
        for target in package.targets { #expect(target.local.isDisjoint(with: leaves), "\(target.name)") }
    }

    @Test("keep support for tests out of what is shipped")
    func testSupport() throws {
        #expect(package["TestSupport"] != nil)
        for target in package.targets where target.kind != "test" && target.name != "TestSupport" {
            #expect(!target.local.contains("TestSupport"), "\(target.name)")
        }
    }

    @Test("keep networks and consoles out of the pure libraries")
    func externals() throws {
        let pure = [
            "HybridCBOR", "HybridCTAP", "HybridCaBLE", "HybridWebAuthn", "HybridAuthenticator", "HybridVault",
            "HybridSession", "HybridQRCode", "HybridQRScanning",
            "HybridDesktopPortal", "HybridPinentry", "HybridThreads",
        ]
        for name in pure {
            let target = try #require(package[name])
            let allowed: Set<String> = ["Crypto", "CryptoExtras"]
            #expect(target.external.subtracting(allowed) == [], "\(name)")
        }
        for target in package.targets where target.kind == "regular" {
            #expect(target.external.isDisjoint(with: ["X509", "SwiftASN1"]), "certificates are made in the lab alone")
        }
    }

    @Test("are read right: the reader of the table sees rows, lists and nothing else")
    func tableReader() {
        let table = TargetTable(
            markdown: """
                | target | may import | holds |
                |---|---|---|
                | `A` | | nothing |
                | `B` | A, CLib | two |
                | C | A | no target |
                `D` | A | no row |
                """
        )
        #expect(
            table.rows == [
                TargetTable.Row(target: "A", mayImport: []), TargetTable.Row(target: "B", mayImport: ["A", "CLib"]),
            ]
        )
    }
}
