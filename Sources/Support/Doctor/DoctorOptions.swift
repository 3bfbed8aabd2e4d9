// SPDX-License-Identifier: Apache-2.0

package import ArgumentParser
package import HybridBLEAdvert
package import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridThreads

/// The options of `doctor`, which perform its checks and print the report.
package struct DoctorOptions: ParsableArguments, Sendable {
    @Flag(help: "Print one JSON object on standard output, and each check as a line of JSON on standard error.")
    package var json = false

    @Option(help: ArgumentHelp("Trust these certificates (PEM) instead of the system's.", valueName: "file"))
    package var cacert: String?

    @OptionGroup
    package var network: NetworkOptions<AdapterName>

    @Option(help: ArgumentHelp("Time limit for all checks together, in seconds.", valueName: "s"))
    package var timeout: Int = 10

    package init() {}

    package func validate() throws {
        guard (1...300).contains(timeout) else { throw ValidationError("--timeout takes 1 to 300 seconds.") }
    }

    /// Performs checks and prints the report.
    ///
    /// - Parameter checks: Performs and records the checks. Returns true if the radio is virtual.
    /// - Throws: ``CommandFailure`` if a signal is received, the output cannot be written, or a ceremony cannot work;
    ///   with `--json` it is printed, and `ExitCode` is thrown.
    package func run(_ checks: @escaping @Sendable (DoctorRun) async throws -> Bool) async throws {
        do {
            try await report(checks)
        } catch let failure as CommandFailure where json {
            StandardError.writeLine(DoctorReport.event(failure))
            throw ExitCode(failure.status.rawValue)
        }
    }

    private func report(_ checks: @escaping @Sendable (DoctorRun) async throws -> Bool) async throws {
        let run = DoctorRun(json: json, budget: TimeBudget(seconds: timeout))
        let ending = await withTerminationSignals {
            let isVirtual = try await checks(run)
            try Task.checkCancellation()
            return isVirtual
        }
        if ending.signal != nil { throw CommandFailure("interrupted", status: .interrupted) }
        let report = DoctorReport(findings: try run.findings(), isVirtual: try ending.result.get())
        try StandardOutput.writeLine(json ? report.json : report.verdict)
        if let obstacle = report.obstacle { throw CommandFailure(obstacle.sentence, status: obstacle.status) }
    }
}

/// A run of the doctor, which prints each finding immediately and stores it for the report.
package final class DoctorRun: Sendable {
    /// The time limit for all checks together.
    package let budget: TimeBudget
    private let json: Bool
    private let state = Locked((findings: [DoctorFinding](), outputFailure: CommandFailure?.none))

    init(json: Bool, budget: TimeBudget) { (self.json, self.budget) = (json, budget) }

    /// Returns all findings.
    ///
    /// - Throws: ``CommandFailure`` if standard output did not accept all of them.
    func findings() throws(CommandFailure) -> [DoctorFinding] {
        let (findings, failure) = state.withLock { $0 }
        if let failure { throw failure }
        return findings
    }

    /// Prints and stores a finding.
    @Sendable package func record(_ finding: DoctorFinding) {
        // The result of an interrupted check is not a finding.
        guard !Task.isCancelled else { return }
        state.withLock { state in
            state.findings.append(finding)
            guard !json else { return StandardError.writeLine(DoctorReport.event(finding)) }
            do throws(CommandFailure) {
                for line in finding.lines { try StandardOutput.writeLine(line) }
            } catch {
                state.outputFailure = error
            }
        }
    }
}

/// The time limit for all checks together, and its shares for single steps.
package struct TimeBudget: Sendable {
    /// The total time in seconds.
    package let seconds: Int
    /// The time at which the budget is exhausted.
    package let end: ContinuousClock.Instant

    /// Creates a budget that starts now.
    init(seconds: Int) {
        self.seconds = seconds
        end = .now + .seconds(seconds)
    }

    /// The time that is left.
    package var left: Duration { ContinuousClock.now.duration(to: end) }

    /// The time limit for receiving an advert, 40 % of the total; it is needed at most twice.
    var receiving: Duration { .milliseconds(400 * seconds) }
    /// The time limit in seconds for connecting to a relay, and again for its response; 40 % of the total.
    var relay: Int { max(1, seconds * 2 / 5) }

    /// The error for an exhausted budget.
    package struct Exceeded: Error {}
}
