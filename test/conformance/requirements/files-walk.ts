import type { Requirements } from "./requirement.ts";

export const filesWalkRequirements = {
  "fs.walk:shape": {
    section: "6.8",
    behavior: "fs/walk answers {entries, errors, truncated}; an entry is {path, kind}, the root is none.",
  },
  "fs.walk:breadth-first": {
    section: "6.8",
    behavior: "Entries come level by level, and within one directory by the bytes of their names.",
  },
  "fs.walk:byte-order": { section: "6.8", behavior: "Names beyond the BMP come after all others." },
  "fs.walk:depth": {
    section: "6.8",
    behavior: "maxDepth 0 lists the children of the root, each level more one level more.",
  },
  "fs.walk:depth-maximum": { section: "6.8", behavior: "maxDepth 64 lists 65 levels and is not truncated." },
  "fs.walk:hidden": { section: "6.8", behavior: "Hidden files and directories are listed and entered." },
  "fs.walk:prune-hidden": {
    section: "6.8",
    behavior: "pruneHiddenDirectories lists hidden directories and does not enter them; files do not matter.",
  },
  "fs.walk:prune-hidden-root": { section: "6.8", behavior: "A hidden root is walked all the same." },
  "fs.walk:prune-hidden-links": {
    section: "6.8",
    behavior: "For pruneHiddenDirectories the name of a link counts, not that of its target.",
  },
  "fs.walk:skips-links": {
    section: "6.8",
    behavior: "Links are not listed, whether they lead to files, directories or nowhere.",
  },
  "fs.walk:skips-special": { section: "6.8", behavior: "Pipes and sockets are not listed." },
  "fs.walk.follow:directories": {
    section: "6.8",
    behavior:
      "followDirectorySymlinks lists linked directories as directories and what they hold under the link.",
  },
  "fs.walk.follow:file-links": {
    section: "6.8",
    behavior: "followDirectorySymlinks lists no link to a file or to nowhere.",
  },
  "fs.walk.follow:once": {
    section: "6.8",
    behavior: "A directory with several names is listed under each and entered under the first.",
  },
  "fs.walk.follow:cycle": {
    section: "6.8",
    behavior: "A link to the root or above it ends the walk nowhere.",
  },
  "fs.walk.follow:outside": { section: "6.8", behavior: "A link that leaves the root is followed." },
  "fs.walk:max-entries": {
    section: "6.8",
    behavior: "After maxEntries names the walk ends, truncated unless there were no more.",
  },
  "fs.walk:max-entries-counts": {
    section: "6.8",
    behavior: "maxEntries counts pipes and links that are not listed, but not broken links.",
  },
  "fs.walk:max-directories": {
    section: "6.8",
    behavior:
      "After maxDirectories directories, the root among them, the walk ends, truncated unless there were no more.",
  },
  "fs.walk:max-directories-counts": {
    section: "6.8",
    behavior: "maxDirectories does not count directories too deep, pruned or entered before.",
  },
  "fs.walk:max-bytes": {
    section: "6.8",
    behavior: "A walk is truncated before the lengths of its URIs and 64 bytes for each exceed 4 MiB.",
  },
  "fs.walk:limits": {
    section: "6.8",
    behavior: "At most 64 levels, 10 000 directories and 50 000 entries may be asked for.",
  },
  "fs.walk:limits-zero": { section: "6.8", behavior: "maxDirectories and maxEntries must not be zero." },
  "fs.walk:limits-first": { section: "6.8", behavior: "Limits are checked before the root." },
  "fs.walk:root-file": { section: "6.8", behavior: "A file, linked or not, or a pipe has no entries." },
  "fs.walk:root-link": {
    section: "6.8",
    behavior: "A linked root has no entries unless links are followed; then they are under the link.",
  },
  "fs.walk:root-through-link": {
    section: "6.8",
    behavior: "Links in the path of the root are followed and stay in the paths of the entries.",
  },
  "fs.walk:root-missing": {
    section: "6.8",
    behavior: "A missing root and a broken link are not found, whether links are followed or not.",
  },
  "fs.walk:root-errors": {
    section: "6.8",
    behavior: "A root below a file and links that lead to each other are errors.",
  },
  "fs.walk:root-spelling": {
    section: "6.8",
    behavior: "A trailing slash and dot segments of the root are not in the paths of the entries.",
  },
  "fs.walk:empty": { section: "6.8", behavior: "An empty directory has no entries and is not truncated." },
  "fs.walk:escapes": { section: "6.8", behavior: "Paths are escaped as fs/canonicalize does it." },
  "fs.walk:bytes": {
    section: "6.8",
    behavior: "Names that are not UTF-8 are listed and entered.",
    knownFailures: [{ target: "codex", note: "tells them in errors, by names that do not exist" }],
  },
  "fs.walk:unreadable": {
    section: "6.8",
    behavior: "A directory that cannot be read is told in errors with the reason, and the walk goes on.",
  },
  "fs.walk:options": {
    section: "6.8",
    behavior: "Four options are required, pruneHiddenDirectories may be absent but not null.",
  },
} satisfies Requirements;
