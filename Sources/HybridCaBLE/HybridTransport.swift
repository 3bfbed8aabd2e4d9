// SPDX-License-Identifier: Apache-2.0

/// How two devices that share a QR code and the air between them agree on a secret channel.
///
/// **Actors.** The *client* (a desktop that wants a signature) draws the QR. The *authenticator* (the phone that
/// holds the passkey) reads it. The *relay* carries bytes and knows no key. This module does none of the
/// carrying: every type takes bytes and gives bytes.
///
/// **Steps.**
/// 1. The client makes a ``QRSecret`` and a key pair and draws them as a ``QROffer``.
/// 2. The phone derives the ``TunnelID``, opens that tunnel at *its* relay (a ``TunnelDomain``) and is told a
///    ``RoutingID``.
/// 3. The phone seals a fresh nonce, the routing ID and its domain into an ``EID`` and puts the ``Advert`` on the
///    air. Only somebody near hears it; only somebody with the QR can open it.
/// 4. The client opens the advert, joins the tunnel, and starts an ``InitiatorHandshake`` under a ``PSK`` that
///    is derived from what was heard. The phone's ``ResponderHandshake`` answers only if the tag verifies: that
///    is the proof of proximity.
/// 5. Both hold a ``ChannelCrypter``. The phone sends a ``PostHandshakeMessage``, then ``ChannelMessage``s go both
///    ways as ``Frame``s.
///
/// **Trust.** Whoever sees the QR and is near can answer it. Whoever holds the QR but is far can't start the
/// handshake. The relay can drop, delay and count, and learns addresses, times and sizes. The relying party's
/// name is vouched for by the client alone, so the phone shows it and asks.
///
/// Sources: CTAP 2.2 §11.5.1 and CTAP 2.3, and what Chromium, webauthn-rs, libwebauthn, Android and iPhone do
/// on the wire; `Tests/Vectors` names the origin of every value.
public enum HybridTransport {
    /// The newest revision of the channel that both sides of this module speak.
    public static let revision = 1
}
