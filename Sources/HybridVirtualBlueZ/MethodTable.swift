// SPDX-License-Identifier: Apache-2.0

internal import HybridSystemBus

/// The methods that are served, and the signatures of their arguments.
enum MethodTable {
    private static let signatures: [String: [String: String]] = [
        Names.adapter: [
            "StartDiscovery": "", "StopDiscovery": "", "SetDiscoveryFilter": "a{sv}", "GetDiscoveryFilters": "",
            "RemoveDevice": "o",
        ],
        Names.advertisingManager: ["RegisterAdvertisement": "oa{sv}", "UnregisterAdvertisement": "o"],
        Names.agentManager: ["RegisterAgent": "os", "UnregisterAgent": "o", "RequestDefaultAgent": "o"],
        BusNames.properties: ["Get": "ss", "Set": "ssv", "GetAll": "s"],
        BusNames.objectManager: ["GetManagedObjects": ""],
        BusNames.introspectable: ["Introspect": ""],
    ]

    /// Whether a call names such a method and gives the arguments it takes; interfaces without an entry take any.
    static func serves(_ call: BusMessage) -> Bool {
        guard let methods = signatures[call.interface] else { return true }
        return methods[call.member] == signature(of: call)
    }

    private static func signature(of call: BusMessage) -> String {
        call.body.map(\.typeSignature).joined()
    }

    /// The words for a call that nothing serves.
    static func refusal(_ call: BusMessage) -> String {
        "Method \"\(call.member)\" with signature \"\(signature(of: call))\" on interface \"\(call.interface)\" "
            + "doesn't exist\n"
    }
}
