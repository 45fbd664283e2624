import type { Requirements } from "./requirement.ts";

export const filesWriteRequirements = {
  "fs.replace:creates": {
    section: "6.2",
    behavior: "Mode replace creates a missing file at once, empty, with mode 0666 less the umask.",
  },
  "fs.replace:truncates": {
    section: "6.2",
    behavior: "Mode replace empties an existing file at once, in place: mode and other names stay.",
  },
  "fs.replace:link": {
    section: "6.2",
    behavior: "Mode replace follows a link, also a broken one, and keeps it.",
  },
  "fs.replace:refused": {
    section: "6.2",
    behavior:
      "Mode replace fails on a directory, a missing parent, a path below a file, a link to itself and a socket.",
  },
  "fs.replace:fifo": {
    section: "6.2",
    behavior: "Mode replace on a pipe without a reader fails at once.",
  },
  "fs.replace:twice": {
    section: "6.2",
    behavior: "One file may have several handles; opening it again empties it under the first.",
  },
  "fs.writeBlock:visible": {
    section: "6.2",
    behavior: "fs/writeBlock answers {}, and the bytes are in the file before it is closed.",
  },
  "fs.writeBlock:hole": { section: "6.2", behavior: "A gap before a block is filled with zeros." },
  "fs.writeBlock:rewrite": { section: "6.2", behavior: "A block may be written over; the rest stays." },
  "fs.writeBlock:length": {
    section: "6.2",
    behavior: "A block has 1 to 1048576 bytes; another length is refused and the handle stays open.",
  },
  "fs.writeBlock:length-first": { section: "6.2", behavior: "The length is checked before the handle." },
  "fs.writeBlock:unknown": { section: "6.2", behavior: "An unknown handle is not found." },
  "fs.writeBlock:read-handle": {
    section: "6.2",
    behavior: "Writing to a handle for reading fails, and the handle stays open.",
  },
  "fs.writeBlock:base64": {
    section: "6.2",
    behavior: "A chunk that is not base64 makes the params invalid.",
  },
  "fs.writeBlock:offset": {
    section: "6.2",
    behavior: "An offset is an unsigned number; beyond 63 bits it is refused and the handle stays open.",
  },
  "fs.writeBlock:pipelined": {
    section: "6.2",
    behavior: "Open, writes and close may be sent without waiting; they act in order.",
  },

  "fs.writeFile:creates": {
    section: "6.3",
    behavior: "fs/writeFile answers {} and creates the file with mode 0666 less the umask.",
  },
  "fs.writeFile:replaces": {
    section: "6.3",
    behavior: "An existing file is replaced in place: mode and other names stay.",
  },
  "fs.writeFile:empty": { section: "6.3", behavior: "No bytes make an empty file." },
  "fs.writeFile:all-bytes": { section: "6.3", behavior: "Every byte value is written unchanged." },
  "fs.writeFile:large": { section: "6.3", behavior: "8 MiB are written in one request." },
  "fs.writeFile:link": {
    section: "6.3",
    behavior: "Links are followed, also a broken one, and kept, when followSymlinks is absent, null or true.",
  },
  "fs.writeFile:device": { section: "6.3", behavior: "A device can be written to." },
  "fs.writeFile:fifo": {
    section: "6.3",
    behavior: "Writing to a pipe without a reader fails at once.",
    knownFailures: [{ target: "codex", note: "waits for a reader, and holds up the connection" }],
  },
  "fs.writeFile:missing-parent": { section: "6.3", behavior: "Parents are not created." },
  "fs.writeFile:directory": { section: "6.3", behavior: "A directory, linked or not, cannot be written." },
  "fs.writeFile:errors": {
    section: "6.3",
    behavior: "A path below a file, links that lead to each other and a name that is too long are errors.",
  },
  "fs.writeFile:base64": {
    section: "6.3",
    behavior: "Bytes that are not base64 are an invalid request, not invalid params, and the error says why.",
  },
  "fs.writeFile:base64-no-effect": {
    section: "6.3",
    behavior: "Bytes that are not base64 leave the file as it was, and are told before the path is used.",
  },
  "fs.writeFile.nofollow:plain": {
    section: "6.3",
    behavior: "followSymlinks false creates and replaces files whose path has no link.",
  },
  "fs.writeFile.nofollow:final-link": {
    section: "6.3",
    behavior: "followSymlinks false refuses every link and touches nothing behind it.",
  },
  "fs.writeFile.nofollow:middle-link": {
    section: "6.3",
    behavior: "With followSymlinks false a linked directory in the path is no directory.",
  },
  "fs.writeFile.nofollow:refused": {
    section: "6.3",
    behavior: "followSymlinks false refuses directories, devices, pipes without a reader and the root.",
  },
  "fs.writeFile.nofollow:missing-parent": {
    section: "6.3",
    behavior: "With followSymlinks false a missing parent is not found and a file is no directory.",
  },

  "fs.createDirectory:default": {
    section: "6.4",
    behavior:
      "fs/createDirectory answers {} and makes missing parents when recursive is absent, null or true.",
  },
  "fs.createDirectory:mode": { section: "6.4", behavior: "A directory has mode 0777 less the umask." },
  "fs.createDirectory:existing": {
    section: "6.4",
    behavior: "An existing directory, linked or not, is left alone when recursive and an error otherwise.",
  },
  "fs.createDirectory:single": {
    section: "6.4",
    behavior: "recursive false makes one directory and no parents.",
  },
  "fs.createDirectory:in-the-way": {
    section: "6.4",
    behavior: "A file, a pipe or a broken link of that name is an error, recursive or not.",
  },
  "fs.createDirectory:below-file": { section: "6.4", behavior: "A path below a file is an error." },
  "fs.createDirectory:link": { section: "6.4", behavior: "A linked directory in the path is followed." },
  "fs.createDirectory:below-broken-link": {
    section: "6.4",
    behavior: "A broken or cyclic link in the path is an error, and its target is not made.",
  },
  "fs.createDirectory:name-too-long": { section: "6.4", behavior: "A name that is too long is an error." },
  "fs.createDirectory:root": {
    section: "6.4",
    behavior: "The root directory exists, with followSymlinks false too.",
  },
  "fs.createDirectory.nofollow:plain": {
    section: "6.4",
    behavior:
      "followSymlinks false makes directories whose path has no link, and leaves an existing one alone.",
  },
  "fs.createDirectory.nofollow:middle-link": {
    section: "6.4",
    behavior: "With followSymlinks false a link or a file in the path is no directory, and nothing is made.",
  },
  "fs.createDirectory.nofollow:final-link": {
    section: "6.4",
    behavior:
      "With followSymlinks false a link or a file of that name is no directory when recursive, and exists otherwise.",
  },
  "fs.createDirectory.nofollow:single": {
    section: "6.4",
    behavior:
      "With followSymlinks false and recursive false parents are not made and an existing directory is an error.",
  },
} satisfies Requirements;
