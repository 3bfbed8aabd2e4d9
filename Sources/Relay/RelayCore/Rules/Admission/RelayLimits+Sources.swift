// SPDX-License-Identifier: Apache-2.0

extension RelayLimits {
    var sources: SourceLimits {
        SourceLimits(
            open: connectionsPerSource,
            connectionsPerMinute: connectionsPerMinuteAndSource,
            newPerMinute: newPerMinuteAndSource,
            listeners: listenersPerSource,
            networkFactor: networkFactor
        )
    }

    /// The limits on clients that wait for a response to their contact.
    var held: SourceLimits { SourceLimits(open: heldContactsPerSource, factor: networkFactor) }

    /// The limits on requests for contact IDs.
    var seals: SourceLimits {
        SourceLimits(open: pendingSealsPerSource, perMinute: sealsPerMinuteAndSource, factor: networkFactor)
    }

    /// The limits on revocations of one source.
    var ownRevocations: SourceLimits {
        SourceLimits(open: 0, perMinute: revocationsPerMinuteAndSource, factor: networkFactor)
    }

    var listenerRate: EventRate { EventRate(perMinute: listenersPerMinute, burst: listenersPerMinute / 30) }
}

extension SourceLimits {
    /// Creates limits on something that is not a connection.
    init(open: Int, perMinute: Int = 0, factor: Int) {
        self.init(open: open, connectionsPerMinute: perMinute, newPerMinute: 0, listeners: 0, networkFactor: factor)
    }
}
