// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport

@testable import HybridVault

/// Ways to lose a part of a prefix.
enum Loss: CaseIterable {
    /// Nothing: the process was killed, the system continued.
    case nothing
    /// All names and contents that were not synced.
    case everythingUnsynced
    /// Contents that were not synced; names survive.
    case contents
    /// Some names, and all contents that were not synced.
    case someNames
}

/// Contents of the disk after a prefix of steps and a loss.
struct Disk {
    private struct Inode {
        var bytes: [UInt8] = []
        var isSynced = false
    }

    private var inodes: [Inode] = []
    private var names: [String: Int] = [:]
    private var removed: Set<String> = []
    private var directories: [String] = []

    init(_ steps: [FileStep], _ loss: Loss, _ random: inout SeededGenerator) {
        // Contents first: an inode is whatever a name referred to when it was created.
        var current: [String: Int] = [:]
        for step in steps {
            switch step {
            case .created(let path):
                current[path] = inodes.count
                inodes.append(Inode())
            case .wrote(let path, let bytes): if let inode = current[path] { inodes[inode].bytes = bytes }
            case .syncedFile(let path): if let inode = current[path] { inodes[inode].isSynced = true }
            case .linked(let from, let to): current[to] = current[from]
            case .renamed(let from, let to):
                current[to] = current[from]
                current[from] = nil
            case .removed(let path): current[path] = nil
            case .madeDirectory, .syncedDirectory: break
            }
        }
        // Then the names: a change of a directory is durable once that directory was synced afterwards.
        var inode = 0
        for (index, step) in steps.enumerated() {
            if case .created = step { inode += 1 }
            guard let folder = Self.folder(of: step) else { continue }
            let isSafe = steps[index...].contains(.syncedDirectory(folder))
            let keeps: Bool =
                switch loss {
                case .nothing, .contents: true
                case .everythingUnsynced: isSafe
                case .someNames: isSafe || random.number(0...1) == 0
                }
            switch step {
            case .created(let path):
                inodeOf[path] = inode - 1
                if keeps { set(path, inode - 1) }
            case .linked(let from, let to):
                inodeOf[to] = inodeOf[from]
                if keeps, let target = inodeOf[from] { set(to, target) }
            case .renamed(let from, let to):
                inodeOf[to] = inodeOf[from]
                if keeps, let target = inodeOf[from] {
                    set(to, target)
                    remove(from)
                }
            case .removed(let path): if keeps { remove(path) }
            case .madeDirectory(let path): if keeps { directories.append(path) }
            default: break
            }
        }
        if loss != .nothing {
            for index in inodes.indices where !inodes[index].isSynced { inodes[index].bytes = [] }
        }
    }

    private var inodeOf: [String: Int] = [:]

    private mutating func set(_ path: String, _ inode: Int) {
        names[path] = inode
        removed.remove(path)
    }

    private mutating func remove(_ path: String) {
        names[path] = nil
        removed.insert(path)
    }

    /// Directory that a step changes.
    private static func folder(of step: FileStep) -> String? {
        let path: String
        switch step {
        case .created(let name), .removed(let name), .madeDirectory(let name): path = name
        case .linked(_, let name), .renamed(_, let name): path = name
        case .wrote, .syncedFile, .syncedDirectory: return nil
        }
        return path.lastIndex(of: "/").map { String(path[..<$0]) }
    }

    /// Writes it to a real file system.
    func write(from root: String, to target: String) throws {
        for path in directories where path.hasPrefix(root) {
            let place = target + path.dropFirst(root.count)
            // A directory whose parent was lost is lost, too.
            mkdir(place, 0o700)
        }
        for path in removed where path.hasPrefix(root) { unlink(target + path.dropFirst(root.count)) }
        for (path, inode) in names where path.hasPrefix(root) {
            try? FileSystem.write(target + path.dropFirst(root.count), inodes[inode].bytes)
        }
    }
}
