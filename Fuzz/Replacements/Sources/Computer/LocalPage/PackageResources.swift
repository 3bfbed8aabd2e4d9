// SPDX-License-Identifier: Apache-2.0

/// A substitute for the resources that SwiftPM embeds from `Sources/Computer/LocalPage/Page`.
///
/// The tools version of this package can't embed resources, and the script and the style do not depend on requests.
enum PackageResources {
    static let page_js: [UInt8] = []
    static let page_css: [UInt8] = []
}
