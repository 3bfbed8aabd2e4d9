// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridQRCode
import Testing

@testable import HybridLocalPage

@Suite("What the page is told")
struct PageProgressTests {
    private let began = ContinuousClock.now
    private let code: QRMatrix

    init() throws { code = try QRMatrix(text: "FIDO:/" + String(repeating: "1234567", count: 24)) }

    private func story(_ site: String = "example.com") -> PageProgress {
        PageProgress(PageSubject(site: site, operation: .signIn), at: began)
    }

    /// The one event of a message, as JSON.
    private func content(_ message: [UInt8]) throws -> [String: Any] {
        let text = String(decoding: message, as: UTF8.self)
        #expect(text.hasPrefix("data: {") && text.hasSuffix("}\n\n"))
        #expect(text.utf8.count { $0 == UInt8(ascii: "\n") } == 2 && !text.utf8.contains(UInt8(ascii: "\r")))
        let json = try JSONSerialization.jsonObject(with: Data(text.dropFirst(6).utf8))
        return try #require(json as? [String: Any])
    }

    @Test("the code is shown until the phone is found, and never again")
    func shown() throws {
        var story = self.story()
        _ = story.show(.scan(self.code), at: began)
        let drawn = try #require(self.content(story.message(at: began))["code"] as? [String: Any])
        #expect(drawn["side"] as? Int == 45 && drawn["path"] as? String == self.code.svgPath())
        for stage in [PageStage.found, .connecting(host: "relay.example"), .confirm, .done] {
            _ = story.show(stage, at: began)
            let content = try self.content(story.message(at: began))
            #expect(content["code"] == nil && content["stage"] as? String == stage.name)
        }
    }

    @Test("each event has the whole of it, with times from the beginning and of the stage")
    func whole() throws {
        var story = self.story()
        let changes = [story.warn("VIRTUAL RADIO"), story.warn("VIRTUAL RADIO")]
        #expect(changes == [true, false])
        _ = story.show(.connecting(host: "relay.example"), at: began + .milliseconds(1500))
        let content = try self.content(story.message(at: began + .milliseconds(4000)))
        #expect(content["elapsed"] as? Int == 4000 && content["stageElapsed"] as? Int == 2500)
        #expect(content["site"] as? String == "example.com" && content["operation"] as? String == "signIn")
        #expect(content["warning"] as? String == "VIRTUAL RADIO" && content["host"] as? String == "relay.example")
    }

    @Test("the last stage stays", arguments: [PageStage.done, .failed(cause: "a", remedy: "b")])
    func last(stage: PageStage) throws {
        var story = self.story()
        let changes = [stage, .found, .failed(cause: "x", remedy: "y")].map { story.show($0, at: began) }
        #expect(changes == [true, false, false])
        #expect(story.stage == stage)
    }

    @Test("text of others stays text: it ends no event and begins none")
    func hostileText() throws {
        let hostile = "a\n\ndata: {}\r\n\r\n\u{2028}</script><b>\"\\\0é"
        var story = self.story(hostile)
        _ = story.show(.failed(cause: hostile, remedy: hostile), at: began)
        let content = try self.content(story.message(at: began))
        for name in ["site", "cause", "remedy"] {
            #expect((content[name] as? String).map { Array($0.utf8) } == Array(hostile.utf8))
        }
    }
}

@Suite("Whether anybody looks at the page")
struct AttendanceTests {
    @Test("it is empty when the last stream has ended and none has followed")
    func departure() throws {
        var attendance = PageViewers()
        attendance.join()
        attendance.join()
        let early = attendance.leave()
        #expect(early == nil)
        let departure = try left(&attendance)
        #expect(attendance.isStillEmpty(since: departure))
    }

    @Test("a reload makes it count anew")
    func reload() throws {
        var attendance = PageViewers()
        attendance.join()
        let first = try left(&attendance)
        attendance.join()
        #expect(!attendance.isStillEmpty(since: first))
        let second = try left(&attendance)
        #expect(!attendance.isStillEmpty(since: first) && attendance.isStillEmpty(since: second))
    }

    private func left(_ attendance: inout PageViewers) throws -> PageViewers.Departure {
        let departure = attendance.leave()
        return try #require(departure)
    }
}
