// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridQRCode
import Testing

@testable import HybridLocalPage

@Suite("Events of the page")
struct PageProgressTests {
    private let began = ContinuousClock.now
    private let code: QRMatrix

    init() throws { code = try QRMatrix(text: "FIDO:/" + String(repeating: "1234567", count: 24)) }

    private func progress(_ site: String = "example.com") -> PageProgress {
        PageProgress(PageSubject(site: site, operation: .signIn), at: began)
    }

    /// Returns the content of a message's only event.
    private func content(_ message: [UInt8]) throws -> [String: Any] {
        let text = String(decoding: message, as: UTF8.self)
        #expect(text.hasPrefix("data: {") && text.hasSuffix("}\n\n"))
        #expect(text.utf8.count { $0 == UInt8(ascii: "\n") } == 2 && !text.utf8.contains(UInt8(ascii: "\r")))
        let json = try JSONSerialization.jsonObject(with: Data(text.dropFirst(6).utf8))
        return try #require(json as? [String: Any])
    }

    @Test("the code is shown until the phone is found, and never again")
    func shown() throws {
        var progress = self.progress()
        _ = progress.show(.scan(self.code), at: began)
        let drawn = try #require(self.content(progress.message(at: began))["code"] as? [String: Any])
        #expect(drawn["side"] as? Int == 45 && drawn["path"] as? String == self.code.svgPath())
        for stage in [PageStage.found, .connecting(host: "relay.example"), .confirm, .done] {
            _ = progress.show(stage, at: began)
            let content = try self.content(progress.message(at: began))
            #expect(content["code"] == nil && content["stage"] as? String == stage.event.name)
        }
    }

    @Test("each event has the complete state, with the times since the start and of the stage")
    func whole() throws {
        var progress = self.progress()
        let changes = [progress.warn("VIRTUAL RADIO"), progress.warn("VIRTUAL RADIO")]
        #expect(changes == [true, false])
        _ = progress.show(.connecting(host: "relay.example"), at: began + .milliseconds(1500))
        let content = try self.content(progress.message(at: began + .milliseconds(4000)))
        #expect(content["elapsed"] as? Int == 4000 && content["stageElapsed"] as? Int == 2500)
        #expect(content["site"] as? String == "example.com" && content["operation"] as? String == "signIn")
        #expect(content["warning"] as? String == "VIRTUAL RADIO" && content["host"] as? String == "relay.example")
    }

    @Test("the last stage is final", arguments: [PageStage.done, .failed(cause: "a", remedy: "b")])
    func last(stage: PageStage) throws {
        var progress = self.progress()
        let changes = [stage, .found, .failed(cause: "x", remedy: "y")].map { progress.show($0, at: began) }
        #expect(changes == [true, false, false])
        #expect(progress.stage == stage)
    }

    @Test("hostile text neither ends nor begins an event")
    func hostileText() throws {
        let hostile = "a\n\ndata: {}\r\n\r\n\u{2028}</script><b>\"\\\0é"
        var progress = self.progress(hostile)
        _ = progress.show(.failed(cause: hostile, remedy: hostile), at: began)
        let content = try self.content(progress.message(at: began))
        for name in ["site", "cause", "remedy"] {
            #expect((content[name] as? String).map { Array($0.utf8) } == Array(hostile.utf8))
        }
    }
}
