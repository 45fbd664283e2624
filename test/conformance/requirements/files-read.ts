import type { Requirements } from "./requirement.ts";

export const filesReadRequirements = {
  "fs.readFile:contents": { section: "6.1", behavior: "fs/readFile answers {dataBase64} and nothing else." },
  "fs.readFile:empty": { section: "6.1", behavior: "An empty file is an empty string." },
  "fs.readFile:all-bytes": { section: "6.1", behavior: "Every byte value is read unchanged." },
  "fs.readFile:large": { section: "6.1", behavior: "20 MiB come back in one answer." },
  "fs.readFile:too-large": { section: "6.1", behavior: "A file of more than 512 MiB is refused unread." },
  "fs.readFile:no-size": {
    section: "6.1",
    behavior: "A file of /proc, whose size is 0, is read to its end.",
  },
  "fs.readFile:directory": {
    section: "6.1",
    behavior: "A directory, linked or not, is no file; the error names the native path.",
  },
  "fs.readFile:special": {
    section: "6.1",
    behavior: "A pipe without a writer and a device are refused at once as no files.",
  },
  "fs.readFile:socket": { section: "6.1", behavior: "A socket cannot be opened." },
  "fs.readFile:link": {
    section: "6.1",
    behavior:
      "Links are followed, at the end of the path and in it, when followSymlinks is absent, null or true.",
  },
  "fs.readFile:missing": {
    section: "6.1",
    behavior: "A missing file, a missing parent and a broken link are not found.",
  },
  "fs.readFile:below-file": { section: "6.1", behavior: "A path below a file is an error." },
  "fs.readFile:link-cycle": { section: "6.1", behavior: "Links that lead to each other are an error." },
  "fs.readFile:name-too-long": {
    section: "6.1",
    behavior: "A name of 255 bytes is possible, a longer name or path is an error.",
  },
  "fs.readFile.nofollow:plain": {
    section: "6.1",
    behavior: "followSymlinks false reads a file whose path has no link.",
  },
  "fs.readFile.nofollow:final-link": {
    section: "6.1",
    behavior: "followSymlinks false refuses a link to a file, to a directory, to nothing and to itself.",
  },
  "fs.readFile.nofollow:middle-link": {
    section: "6.1",
    behavior: "With followSymlinks false a linked directory in the path is no directory.",
  },
  "fs.readFile.nofollow:not-regular": {
    section: "6.1",
    behavior: "followSymlinks false refuses a directory, a pipe and a device as not regular.",
  },
  "fs.readFile.nofollow:missing": {
    section: "6.1",
    behavior:
      "With followSymlinks false missing files and parents are not found, and paths below files an error.",
  },
  "fs.readFile.nofollow:root": {
    section: "6.1",
    behavior: "With followSymlinks false the root directory names no entry.",
  },

  "fs.open:result": { section: "6.2", behavior: "fs/open answers {handleId} with the client's id." },
  "fs.open:default-mode": { section: "6.2", behavior: "A handle is for reading when no mode is given." },
  "fs.open:link": { section: "6.2", behavior: "fs/open follows links." },
  "fs.open:empty-id": { section: "6.2", behavior: "The empty string is a handle id." },
  "fs.open:id-length": {
    section: "6.2",
    behavior: "A handle id has at most 32 bytes of UTF-8, whatever the number of characters.",
  },
  "fs.open:id-length-first": {
    section: "6.2",
    behavior: "A handle id that is too long is refused before anything else is looked at, by every method.",
  },
  "fs.open:duplicate": {
    section: "6.2",
    behavior: "A handle id in use is refused before the path is looked at, and the first handle stays open.",
  },
  "fs.open:limit": {
    section: "6.2",
    behavior: "A connection has at most 128 handles; closing one makes room.",
  },
  "fs.open:limit-first": {
    section: "6.2",
    behavior: "Beyond the limit nothing is opened or created, and a duplicate id is told first.",
  },
  "fs.open:failures-do-not-count": { section: "6.2", behavior: "An open that failed takes no handle." },
  "fs.open:missing": {
    section: "6.2",
    behavior: "A missing file, a missing parent and a broken link are not found.",
  },
  "fs.open:not-a-file": {
    section: "6.2",
    behavior: "A directory, a pipe without a writer and a device are refused at once as no files.",
  },
  "fs.open:errors": {
    section: "6.2",
    behavior: "A path below a file, links that lead to each other and a socket are errors.",
  },
  "fs.open:mode": { section: "6.2", behavior: "The mode is read or replace; null is neither." },

  "fs.readBlock:range": { section: "6.2", behavior: "fs/readBlock answers the bytes at the offset." },
  "fs.readBlock:eof": {
    section: "6.2",
    behavior: "eof is true when fewer bytes came than asked for, and false when exactly the rest came.",
  },
  "fs.readBlock:beyond-end": {
    section: "6.2",
    behavior: "At and beyond the end there are no bytes, and eof.",
  },
  "fs.readBlock:empty-file": { section: "6.2", behavior: "An empty file has no bytes, and eof." },
  "fs.readBlock:length": {
    section: "6.2",
    behavior: "A block has 1 to 1048576 bytes; another length is refused and the handle stays open.",
  },
  "fs.readBlock:length-first": { section: "6.2", behavior: "The length is checked before the handle." },
  "fs.readBlock:whole-file": {
    section: "6.2",
    behavior: "Blocks of 1 MiB, all asked for at once, make up the file.",
  },
  "fs.readBlock:any-order": { section: "6.2", behavior: "Blocks may be read again and backwards." },
  "fs.readBlock:unknown": { section: "6.2", behavior: "An unknown handle is not found." },
  "fs.readBlock:offset-limit": {
    section: "6.2",
    behavior: "An offset of 2^53 - 1 is beyond the end; one that does not fit 64 bits is no number.",
  },
  "fs.readBlock:failure-closes": { section: "6.2", behavior: "A read that fails closes its handle." },
  "fs.handle:growth": { section: "6.2", behavior: "A handle sees what is appended to its file." },
  "fs.handle:unlinked": {
    section: "6.2",
    behavior: "A handle keeps its file when the name is removed or taken by another file.",
  },
  "fs.handle:per-connection": {
    section: "6.2",
    behavior: "Connections do not share handles: each may use the same id.",
    transports: ["ws", "memory"],
  },
  "fs.handle:disconnect": {
    section: "6.2",
    behavior: "Handles end with their connection, also when its session is resumed.",
    transports: ["ws", "memory"],
  },
  "fs.close:closed": {
    section: "6.2",
    behavior: "fs/close answers {}, and the handle is unknown from then on.",
  },
  "fs.close:unknown": { section: "6.2", behavior: "Closing an unknown or closed handle is no error." },
  "fs.close:reuse": { section: "6.2", behavior: "The id of a closed handle can be used for another file." },
  "fs.close:pipelined": {
    section: "6.2",
    behavior: "Open, read and close of one id may be sent without waiting; they act in order.",
  },
} satisfies Requirements;
