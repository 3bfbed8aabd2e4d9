// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// One stage with a workshop for all tests of a suite, because a vault and its passkey cost seconds to make.
struct SharedStage: SuiteTrait, TestScoping {
    /// What the tests of the suite share.
    struct Props: Sendable {
        let stage: Stage
        let workshop: Workshop
    }

    @TaskLocal private static var props: Props?

    /// Done once, before the first test.
    let preparation: @Sendable (Props) async throws -> Void

    /// A stage on which nothing has happened yet.
    init(preparation: @escaping @Sendable (Props) async throws -> Void = { _ in }) {
        self.preparation = preparation
    }

    /// What a test of the suite plays with.
    static func take() throws -> Props {
        try #require(props, "the suite has no shared stage")
    }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await Stage.set { stage in
            try await Workshop.run(on: stage) { workshop in
                let props = Props(stage: stage, workshop: workshop)
                try await preparation(props)
                try await Self.$props.withValue(props) { try await function() }
            }
        }
    }
}

/// How a ceremony between one of our programs and a counterpart ended.
struct Meeting: CustomStringConvertible {
    let desktop: RunningProgram.Ending
    let phone: RunningProgram.Ending

    var description: String { "desktop: \(desktop)\nphone: \(phone)" }
}

extension SharedStage.Props {
    /// hybrid-auth and a foreign desktop.
    func hybridAuth(
        for person: Person = Person(),
        meets program: String = "client.py",
        _ arguments: [String],
        asking requests: String,
        extra: [String] = []
    ) async throws -> Meeting {
        let desktop = try workshop.start(program, on: stage, arguments, input: requests)
        let phone = try stage.startAuthenticator(try await desktop.firstLine(), person, extra: extra)
        return Meeting(desktop: try await desktop.ending(), phone: try await phone.ending())
    }

    /// hybrid-client and a foreign phone.
    func hybridClient(
        asking options: String,
        extra: [String] = [],
        meets program: String = "authenticator.py",
        _ arguments: [String]
    ) async throws -> Meeting {
        let (client, code) = try await stage.startClient(options, extra: extra)
        let phone = try workshop.start(program, on: stage, arguments, input: code)
        return Meeting(desktop: try await client.ending(), phone: try await phone.ending())
    }

    /// A foreign desktop and a foreign phone, who have only the relay and the radio from us.
    func strangers(
        _ desktopArguments: [String],
        asking requests: String,
        meet phoneArguments: [String]
    ) async throws -> Meeting {
        let desktop = try workshop.start("client.py", on: stage, desktopArguments, input: requests)
        let code = try await desktop.firstLine()
        let phone = try workshop.start("authenticator.py", on: stage, phoneArguments, input: code)
        return Meeting(desktop: try await desktop.ending(), phone: try await phone.ending())
    }
}
