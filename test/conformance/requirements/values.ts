import type { Requirements } from "./requirement.ts";

export const valuesRequirements = {
  "path:relative": {
    section: "3.1",
    behavior: "A relative path or an empty string is no path URI.",
  },
  "path:scheme": { section: "3.1", behavior: "Only the file scheme is a path URI." },
  "path:query": { section: "3.1", behavior: "A path URI has no query, not even an empty one." },
  "path:fragment": { section: "3.1", behavior: "A path URI has no fragment, not even an empty one." },
  "path:nul": { section: "3.1", behavior: "A path URI with a NUL is refused." },
  "path:host": { section: "3.1", behavior: "A path URI of another host is refused as not valid here." },
  "path:host-syntax": {
    section: "3.1",
    behavior: "A path URI with a user or a port in its host is refused.",
  },
  "path:drive": {
    section: "3.1",
    behavior: "A path URI whose first segment is a drive letter is refused as not valid here.",
  },
  "path:type": { section: "3.1", behavior: "A path URI must be a string." },
  "path:localhost": { section: "3.1", behavior: "The host localhost, in any case, is this machine." },
  "path:scheme-case": { section: "3.1", behavior: "The scheme may be written in capitals." },
  "path:short": { section: "3.1", behavior: "file:tmp and file:/tmp are /tmp, file: is the root." },
  "path:dot-segments": {
    section: "3.1",
    behavior: "Dot segments, escaped or not, are resolved in the text of the URI.",
  },
  "path:escaped-slash": { section: "3.1", behavior: "An escaped slash separates like a plain one." },
  "path:escapes": { section: "3.1", behavior: "Escaped characters are decoded." },
  "path:slashes": { section: "3.1", behavior: "A trailing slash and repeated slashes do not matter." },
  "path:raw-characters": { section: "3.1", behavior: "Spaces and UTF-8 may stand in the URI unescaped." },
  "path:surrounding-space": { section: "3.1", behavior: "White space around the URI is ignored." },
  "path:not-utf8": { section: "3.1", behavior: "Escaped bytes need not be UTF-8." },
  "path:bad-escape": { section: "3.1", behavior: "A percent sign that escapes nothing stands for itself." },

  "base64:accepted": {
    section: "3.2",
    behavior: "Bytes are standard base64 with padding; the empty string is no bytes.",
  },
  "base64:padding": { section: "3.2", behavior: "Missing padding is refused." },
  "base64:excess-padding": { section: "3.2", behavior: "Padding where none belongs is refused." },
  "base64:symbol": {
    section: "3.2",
    behavior: "A character outside the alphabet is refused with its code and offset.",
  },
  "base64:url-alphabet": { section: "3.2", behavior: "The URL-safe alphabet is refused." },
  "base64:white-space": { section: "3.2", behavior: "White space is refused." },
  "base64:last-symbol": {
    section: "3.2",
    behavior: "A last symbol with bits beyond the last byte is refused.",
  },
  "base64:length": { section: "3.2", behavior: "A single symbol is refused for its length." },
  "base64:type": { section: "3.2", behavior: "Bytes must be a string." },
  "base64:all-bytes": { section: "3.2", behavior: "Every byte value goes through unchanged, both ways." },

  "number:negative": { section: "3.3", behavior: "A negative number for an unsigned member is refused." },
  "number:fraction": { section: "3.3", behavior: "A fraction is refused." },
  "number:range": {
    section: "3.3",
    behavior: "A number beyond 64 bits is refused; the largest 64-bit number is accepted.",
  },
  "number:type": { section: "3.3", behavior: "A number must be a JSON number." },
  "number:null": { section: "3.3", behavior: "Null stands for an absent optional number." },

  "environment.info:same": {
    section: "5.1",
    behavior: "environment/info answers what initialize said.",
  },
  "environment.info:shell": {
    section: "5.1",
    behavior: "The shell has a known name and the path of a program.",
  },
  "environment.info:version": { section: "5.1", behavior: "executorVersion is a version of three numbers." },
  "environment.info:provider": {
    section: "5.1",
    behavior: "providerId is a SHA-256 in hex, the same on every connection to a server.",
    transports: ["ws", "memory"],
  },
  "environment.info:cwd": {
    section: "5.1",
    behavior: "cwd is the server's working directory, percent-encoded.",
    transports: ["cli"],
  },
  "environment.info:home": {
    section: "5.1",
    behavior: "userHomeDir is the home of the server's user.",
    transports: ["cli"],
  },
  "environment.info:platform": { section: "5.1", behavior: "platformOs is linux." },
  "environment.info:path-dirs": { section: "5.1", behavior: "prependPathDirs is a list of path URIs." },
  "environment.info:temporary-directories": {
    section: "5.1",
    behavior: "temporaryDirectories holds TMPDIR when it is set and is empty otherwise.",
    transports: ["cli"],
  },
  "environment.info:temp-dir": {
    section: "5.1",
    behavior: "tempDir is /tmp when TMPDIR is not set.",
    transports: ["cli"],
  },
  "environment.info:capabilities": {
    section: "5.1",
    behavior: "Every capability is a boolean, and windowsMxc is not announced on Linux.",
  },
  "environment.status:ready": {
    section: "5.2",
    behavior: "environment/status answers {status: ready} and nothing else.",
  },
} satisfies Requirements;
