// SPDX-License-Identifier: Apache-2.0

import HybridPasskeysModel
import HybridPrimitives
import Testing

@Suite("A scan")
struct ScanModelTests {
    private func running() -> ScanModel {
        var model = ScanModel()
        model.open()
        _ = model.begin()
        return model
    }

    @Test("goes from the viewfinder to the end")
    func story() {
        var model = ScanModel()
        #expect(model.stage == .idle(nil) && !model.needsCamera)
        model.open()
        #expect(model.stage == .viewfinder(.starting) && model.needsCamera)
        model.show(.running(hint: nil))
        #expect(model.stage.title == "Hold the code in front of the camera" && model.needsCamera)
        model.show(.running(hint: "Move closer"))
        #expect(model.stage.title == "Move closer")
        #expect(model.begin() == true)
        #expect(model.stage == .codeFound && !model.needsCamera)
        for state in ["tunnel-open", "advertising", "connected"] {
            model.receive(.state(state, operation: nil))
            #expect(model.stage == .connecting, "\(state)")
        }
        model.receive(.state("asked", operation: "sign-in"))
        #expect(model.stage == .asked(.signIn))
        model.receive(.state("answered", operation: nil))
        #expect(model.stage == .asked(.signIn))
        model.receive(.state("done", operation: nil))
        model.end(status: 0)
        #expect(model.stage == .done(.signIn) && model.stage.title == "Signed in")
        model.open()
        #expect(model.stage == .viewfinder(.starting))
    }

    @Test("asks again after a second request with the same code")
    func secondRequest() {
        var model = running()
        model.receive(.state("asked", operation: "sign-in"))
        model.receive(.state("asked", operation: "create"))
        #expect(model.stage == .asked(.create))
        model.receive(.state("asked", operation: "unreadable"))
        #expect(model.stage == .asked(.unknown))
    }

    @Test("takes one code at a time")
    func oneCode() {
        var model = running()
        #expect(model.begin() == false)
        #expect(model.beginPicture() == false)
        model.open()
        model.close()
        model.pause(.timedOut)
        model.show(.running(hint: nil))
        #expect(model.stage == .codeFound)
    }

    @Test("stops the camera when the page disappears, after two minutes and at lock")
    func camera() {
        var model = ScanModel()
        model.open()
        model.close()
        #expect(model.stage == .idle(nil) && !model.needsCamera)
        model.show(.running(hint: nil))
        #expect(!model.needsCamera)
        for reason in [ScanPause.timedOut, .screenLocked] {
            model.open()
            model.pause(reason)
            #expect(model.stage == .idle(reason) && !model.needsCamera)
        }
        model.open()
        model.show(.unusable(.noCamera))
        #expect(!model.needsCamera && model.stage.title == "No camera found")
    }

    @Test("fails with the reason of the helper")
    func failure() {
        var model = running()
        model.receive(.failure(AuthFailure(code: "client-not-nearby")))
        #expect(model.stage == .codeFound)
        model.end(status: 75)
        #expect(model.stage.title == "The other device did not find this one")
        #expect(model.begin() == true)
        model.end(status: 64, lastLine: "Error: Unknown option '--from-link'")
        #expect(model.stage == .failed(AuthFailure(code: "usage", technical: "Error: Unknown option '--from-link'.")))
    }

    @Test("that the user ended needs no explanation, whatever the helper reports")
    func cancelled() {
        for (code, status) in [("interrupted", 130), ("connection-lost", 75)] as [(String, Int32)] {
            var model = running()
            model.cancel()
            #expect(model.stage == .codeFound)
            model.receive(.failure(AuthFailure(code: code)))
            model.end(status: status)
            #expect(model.stage == .idle(nil))
        }
        var model = running()
        model.cancel()
        model.end(status: nil)
        #expect(model.stage == .idle(nil))
        // The helper was faster.
        model = running()
        model.cancel()
        model.end(status: 0)
        #expect(model.stage == .done(.unknown))
    }

    @Test("ignores events and ends while no helper runs")
    func late() {
        var model = ScanModel()
        model.open()
        model.receive(.state("asked", operation: "sign-in"))
        model.end(status: 0)
        model.cancel()
        #expect(model.stage == .viewfinder(.starting))
        _ = model.begin()
        model.end(status: nil)
        #expect(model.stage == .failed(.ended))
    }

    @Test("has a sentence for each problem of a camera")
    func cameraProblems() {
        let problems: [CameraProblem] = [
            .noCamera, .turnedOff, .unusable(code: "camera-silent", "it is a\u{202E} toaster"),
            .unusable(code: "no-pipewire", "b"), .unusable(code: "camera-unplugged", "c"),
            .unusable(code: "camera-format", "d"),
        ]
        for problem in problems { #expect(!problem.title.isEmpty) }
        #expect(Set(problems.map(\.advice)).count == problems.count)
        #expect(problems.map(\.technical) == ["", "", "It is a toaster.", "B.", "C.", "D."])
    }
}

@Suite("A code")
struct ScannedCodeTests {
    private func text(_ code: ScannedCode?) -> String? { code.map { String(decoding: $0.line.memory, as: UTF8.self) } }

    @Test(
        "is a line for the helper",
        arguments: [
            ("FIDO:/0123", "FIDO:/0123\n"), ("  fido:/0123\r\n", "fido:/0123\n"), ("fido://0123", "fido://0123\n"),
            ("hybrid-relay:4711", "hybrid-relay:4711\n"),
            ("HYBRID-RELAY:RELAY.EXAMPLE", "HYBRID-RELAY:RELAY.EXAMPLE\n"), ("HYBRID:/0123 ", "HYBRID:/0123\n"),
        ]
    )
    func codes(input: String, expected: String) { #expect(text(ScannedCode(input)) == expected) }

    @Test(
        "is nothing else",
        arguments: [
            "", " ", "FIDO:/", "FIDO://", "FIDO:/12a", "FIDO:/1 2", "FIDO:/12\n34", "https://example.com",
            "my password",
            "xFIDO:/12", "FIDO:12", "HYBRID:/", "HYBRID:/12a", "HYBRID:12", "FIDO:/\u{0661}", "hybrid-relay:",
            "hybrid-relay:a b", "hybrid-relay:\u{E9}",
            "FIDO:/" + String(repeating: "1", count: 5000),
        ]
    )
    func others(input: String) { #expect(ScannedCode(input) == nil) }

    @Test("of a relay is public, unlike that of a sign-in")
    func relay() {
        #expect(ScannedCode("hybrid-relay:4711 ")?.relayLink == "hybrid-relay:4711")
        #expect(ScannedCode("FIDO:/12")?.relayLink == nil && ScannedCode("HYBRID:/12")?.relayLink == nil)
    }

    @Test("is for one purpose")
    func kinds() {
        let kinds: [String: ScannedCode.Kind] = [
            "FIDO:/12": .signIn, "hybrid:/12": .transfer, "HYBRID-RELAY:4711": .relay,
        ]
        for (text, kind) in kinds { #expect(ScannedCode(text)?.kind == kind, "\(text)") }
    }
}
