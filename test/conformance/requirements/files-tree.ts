import type { Requirements } from "./requirement.ts";

export const filesTreeRequirements = {
  "fs.getMetadata:file": {
    section: "6.5",
    behavior: "A file is described by six members: three flags, its size and two times.",
  },
  "fs.getMetadata:directory": { section: "6.5", behavior: "A directory has the size the system gives it." },
  "fs.getMetadata:link": {
    section: "6.5",
    behavior: "A link is described by its target, however many links away, and isSymlink is true.",
  },
  "fs.getMetadata:through-link": {
    section: "6.5",
    behavior: "isSymlink is about the path itself, not about its parents.",
  },
  "fs.getMetadata:null-options": {
    section: "6.5",
    behavior: "Links are followed when followSymlinks is null or true.",
  },
  "fs.getMetadata:special": {
    section: "6.5",
    behavior: "A pipe, a socket and a device are neither file nor directory.",
  },
  "fs.getMetadata:large": { section: "6.5", behavior: "Sizes beyond 32 bits are exact." },
  "fs.getMetadata:modified": {
    section: "6.5",
    behavior: "modifiedAtMs is in whole milliseconds since 1970, rounded down.",
  },
  "fs.getMetadata:before-1970": {
    section: "6.5",
    behavior: "A time before 1970 is negative.",
    knownFailures: [{ target: "codex", note: "0, except with followSymlinks false" }],
  },
  "fs.getMetadata:created": {
    section: "6.5",
    behavior: "createdAtMs is the file's time of birth in whole milliseconds, or 0.",
  },
  "fs.getMetadata:missing": {
    section: "6.5",
    behavior: "A missing path, a missing parent and a broken link are not found.",
  },
  "fs.getMetadata:errors": {
    section: "6.5",
    behavior: "A path below a file, links that lead to each other and a name that is too long are errors.",
  },
  "fs.getMetadata.nofollow:plain": {
    section: "6.5",
    behavior: "followSymlinks false describes what has no link in its path, the root too.",
  },
  "fs.getMetadata.nofollow:final-link": {
    section: "6.5",
    behavior: "followSymlinks false refuses every link, wherever it leads.",
  },
  "fs.getMetadata.nofollow:middle-link": {
    section: "6.5",
    behavior: "With followSymlinks false a linked directory in the path is no directory.",
  },
  "fs.getMetadata.nofollow:missing": {
    section: "6.5",
    behavior:
      "With followSymlinks false missing paths and parents are not found, and paths below files an error.",
  },

  "fs.canonicalize:plain": { section: "6.6", behavior: "A path without links is itself." },
  "fs.canonicalize:links": {
    section: "6.6",
    behavior: "Links are resolved at the end of the path and in it.",
  },
  "fs.canonicalize:spelling": {
    section: "6.6",
    behavior: "Trailing and repeated slashes, dot segments, the host and needless escapes disappear.",
  },
  "fs.canonicalize:root": { section: "6.6", behavior: "The root is file:///." },
  "fs.canonicalize:escapes": {
    section: "6.6",
    behavior: "In a URI that is sent only controls, space, non-ASCII and a few marks are escaped.",
  },
  "fs.canonicalize:special": { section: "6.6", behavior: "Pipes and devices have a canonical path too." },
  "fs.canonicalize:missing": {
    section: "6.6",
    behavior: "A missing path, a missing parent and a broken link are not found.",
  },
  "fs.canonicalize:errors": {
    section: "6.6",
    behavior: "A path below a file, links that lead to each other and a name that is too long are errors.",
  },

  "fs.readDirectory:entries": {
    section: "6.7",
    behavior: "Each name is there once with its kind, hidden ones too, without . and ...",
  },
  "fs.readDirectory:empty": { section: "6.7", behavior: "An empty directory has no entries." },
  "fs.readDirectory:links": { section: "6.7", behavior: "A link has the kind of its target." },
  "fs.readDirectory:broken-links": {
    section: "6.7",
    behavior: "Links that lead nowhere or to each other are left out.",
  },
  "fs.readDirectory:special": {
    section: "6.7",
    behavior: "Pipes and sockets, linked or not, are there and neither file nor directory.",
  },
  "fs.readDirectory:names": { section: "6.7", behavior: "Names are plain text, not escaped." },
  "fs.readDirectory:through-link": { section: "6.7", behavior: "A linked directory is read." },
  "fs.readDirectory:not-a-directory": {
    section: "6.7",
    behavior: "A file, linked or not, a pipe and a path below a file are no directories.",
  },
  "fs.readDirectory:missing": {
    section: "6.7",
    behavior:
      "A missing directory and a broken link are not found; links that lead to each other are an error.",
  },
  "fs.readDirectory:limit": {
    section: "6.7",
    behavior: "50 000 entries are possible, broken links not counted; more are refused with their number.",
  },

  "fs.remove:default": {
    section: "6.9",
    behavior:
      "Without options a file, a directory with all it holds, or nothing is removed, and the answer is {}.",
  },
  "fs.remove:null-options": { section: "6.9", behavior: "Null stands for an absent option." },
  "fs.remove:link": {
    section: "6.9",
    behavior: "A link is removed and not what it leads to, recursive or not, with a slash behind it or not.",
  },
  "fs.remove:links-inside": {
    section: "6.9",
    behavior: "Links in a directory that is removed are not followed.",
  },
  "fs.remove:through-link": { section: "6.9", behavior: "A linked directory in the path is followed." },
  "fs.remove:special": { section: "6.9", behavior: "Pipes and sockets are removed." },
  "fs.remove:single": {
    section: "6.9",
    behavior: "recursive false removes a file or an empty directory; one that is not empty is an error.",
  },
  "fs.remove:force": {
    section: "6.9",
    behavior: "A missing path or parent is no error with force and not found without, recursive or not.",
  },
  "fs.remove:below-file": { section: "6.9", behavior: "A path below a file is an error, even with force." },
  "fs.remove:name-too-long": {
    section: "6.9",
    behavior: "A name that is too long is an error, even with force.",
  },
  "fs.remove.nofollow:recursive": {
    section: "6.9",
    behavior: "followSymlinks false is refused unless recursive is false, whatever the path is.",
  },
  "fs.remove.nofollow:plain": {
    section: "6.9",
    behavior: "followSymlinks false removes a file, a pipe or an empty directory whose path has no link.",
  },
  "fs.remove.nofollow:final-link": {
    section: "6.9",
    behavior: "followSymlinks false refuses to remove a link, wherever it leads.",
  },
  "fs.remove.nofollow:middle-link": {
    section: "6.9",
    behavior: "With followSymlinks false a linked directory in the path is no directory.",
  },
  "fs.remove.nofollow:missing": {
    section: "6.9",
    behavior: "With followSymlinks false a missing path is no error with force and not found without.",
  },

  "fs.copy:file": {
    section: "6.10",
    behavior: "fs/copy answers {}; a file is copied with its permissions, recursive or not.",
  },
  "fs.copy:overwrite": {
    section: "6.10",
    behavior: "An existing file gets the contents and permissions of the source, in place.",
  },
  "fs.copy:onto-itself": {
    section: "6.10",
    behavior: "Copying a file onto itself, by any of its names, does not destroy its contents.",
    knownFailures: [{ target: "codex", note: "truncates the file before reading it" }],
  },
  "fs.copy:no-size": { section: "6.10", behavior: "A file of /proc, whose size is 0, is copied to its end." },
  "fs.copy:large": { section: "6.10", behavior: "8 MiB are copied." },
  "fs.copy:to-link": {
    section: "6.10",
    behavior: "A file copied to a link, broken or not, goes to where the link leads.",
  },
  "fs.copy:to-fifo": {
    section: "6.10",
    behavior: "Copying a file to a pipe without a reader fails at once.",
    knownFailures: [{ target: "codex", note: "waits for a reader, and holds up the connection" }],
  },
  "fs.copy:from-link": {
    section: "6.10",
    behavior:
      "A link is copied as a link with the same text, whether it leads to a file, a directory or nowhere.",
  },
  "fs.copy:link-exists": { section: "6.10", behavior: "A link is not copied over anything that exists." },
  "fs.copy:through-link": {
    section: "6.10",
    behavior: "Linked directories in the source and in the destination path are followed.",
  },
  "fs.copy:missing-source": { section: "6.10", behavior: "A missing source or parent of it is not found." },
  "fs.copy:missing-parent": {
    section: "6.10",
    behavior: "A missing parent of the destination is not found when a file or a link is copied.",
  },
  "fs.copy:errors": {
    section: "6.10",
    behavior: "A directory in place of the file, a path below a file and a name that is too long are errors.",
  },
  "fs.copy:special": { section: "6.10", behavior: "Pipes and devices are not copied." },
  "fs.copy:directory": {
    section: "6.10",
    behavior:
      "With recursive a directory is copied with all it holds; files keep their permissions, links their text.",
  },
  "fs.copy:directory-not-recursive": {
    section: "6.10",
    behavior: "A directory is not copied unless recursive is true.",
  },
  "fs.copy:directory-parents": {
    section: "6.10",
    behavior: "Missing parents of a directory's destination are made.",
  },
  "fs.copy:directory-merge": {
    section: "6.10",
    behavior: "An existing directory, linked or not, keeps what it has and gets what is copied.",
  },
  "fs.copy:directory-into-itself": {
    section: "6.10",
    behavior: "A directory is not copied to itself or below itself, by whatever path.",
  },
  "fs.copy:directory-neighbour": {
    section: "6.10",
    behavior: "A directory is copied to its parent, and to a neighbour whose name starts with its own.",
  },
  "fs.copy:directory-link-exists": {
    section: "6.10",
    behavior: "A merge fails at a link that exists already.",
  },
  "fs.copy:directory-conflict": {
    section: "6.10",
    behavior: "A file in place of a directory, or a directory in place of a file, is an error.",
  },
  "fs.copy:directory-special": {
    section: "6.10",
    behavior: "Pipes in a directory that is copied are left out.",
  },
} satisfies Requirements;
