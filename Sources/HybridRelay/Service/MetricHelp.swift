// SPDX-License-Identifier: Apache-2.0

/// What each metric says, for people who meet it in a graph.
enum MetricHelp {
    static let texts = [
        "hybrid_relay_tunnels_total": "Tunnels that were opened.",
        "hybrid_relay_tunnels_open": "Tunnels that hold a connection now.",
        "hybrid_relay_tunnels_waiting": "Tunnels whose client has not come.",
        "hybrid_relay_tunnel_bytes_total": "Bytes that tunnels carried, counted when they end.",
        "hybrid_relay_tunnel_ends_total": "Tunnels that ended, by reason.",
        "hybrid_relay_refusals_total": "Requests that did not become an end of a tunnel, by HTTP status.",
        "hybrid_relay_connections_total": "Connections that were let in.",
        "hybrid_relay_connections_open": "Connections there are now.",
        "hybrid_relay_connections_refused_total": "Connections hung up on before a word was said, by reason.",
        "hybrid_relay_buffered_bytes": "Bytes that one end has sent and the other has not taken.",
        "hybrid_relay_new_by_token_total": "Tunnels that were asked for, by the name of the token.",
        "hybrid_relay_draining": "1 while the relay takes no new tunnels and waits for the others to end.",
        "hybrid_relay_certificate_expiry_timestamp_seconds": "When the certificate in use ends.",
        "hybrid_relay_reloads_total": "Files read again, by part and result: done, or the old one kept.",
        "hybrid_relay_build_info": "The version that runs.",
    ]
}
