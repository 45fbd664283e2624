import type { Requirements } from "./requirement.ts";

export const filesErrorsRequirements = {
  "fs.gate:before-initialize": {
    section: "2.1",
    behavior: "Every method of fs/* is refused before initialize.",
  },
  "fs.gate:before-initialized": {
    section: "2.1",
    behavior: "Every method of fs/* is refused before initialized.",
  },
  "fs.params:required": {
    section: "6",
    behavior: "Each method names the first required member that is missing.",
  },
  "fs.params:object": { section: "6", behavior: "Params that are absent, null or no object are invalid." },
  "fs.params:unknown-members": { section: "6", behavior: "Members that a method does not know are ignored." },
  "fs.params:strings": { section: "6", behavior: "Paths, ids and bytes must be strings." },
  "fs.params:booleans": { section: "6", behavior: "Options must be booleans." },
  "fs.params:copy-recursive": {
    section: "6.10",
    behavior: "For fs/copy recursive is required and not null.",
  },
  "fs.sandbox:null": {
    section: "6",
    behavior: "sandbox null is no sandbox, for every method that takes one.",
  },
  "fs.sandbox:none": {
    section: "6",
    behavior: "The profiles disabled and external restrict no method.",
  },
  "fs.sandbox:level": {
    section: "6",
    behavior: "A sandbox without windowsSandboxLevel or permissions is invalid, before the path is used.",
  },
  "fs.sandbox:managed": {
    section: "6",
    behavior: "Under a policy that grants nothing, no method finds a file or changes anything.",
  },
  "fs.order:pipelined": {
    section: "6",
    behavior: "Requests sent without waiting act one after another, in the order they were sent.",
  },

  "fs.path:relative": { section: "3.1", behavior: "A relative path is refused by every method." },
  "fs.path:not-a-path": {
    section: "3.1",
    behavior: "Another scheme, a query, a fragment and a NUL are refused by every method.",
  },
  "fs.path:foreign": {
    section: "3.1",
    behavior:
      "The path of another host or system is refused when it is used, by every method that uses it at once.",
  },
  "fs.path:foreign-uri": {
    section: "3.1",
    behavior: "The error for a foreign path has the URI as a URL is written.",
  },
  "fs.path:escaped-slash": { section: "3.1", behavior: "An escaped slash separates." },
  "fs.path:dot-segments": {
    section: "3.1",
    behavior: "Dot segments, escaped or not, are resolved in the text: a link before .. is not followed.",
  },
  "fs.path:escaped-dots": {
    section: "3.1",
    behavior:
      "Dots beside escaped slashes are resolved in the text too, also in the last name, whether links may be followed or not.",
  },
  "fs.path:long-text": {
    section: "3.1",
    behavior:
      "160000 slashes, or as many dots, do not matter; a path that is too long without them is an error.",
  },
  "fs.path:slashes": {
    section: "3.1",
    behavior: "A slash behind a file and repeated slashes do not matter, for reading and for writing.",
  },
  "fs.path:spelling": {
    section: "3.1",
    behavior:
      "The host localhost, a scheme in capitals, one slash, and white space around the URI are accepted.",
  },
  "fs.path:characters": {
    section: "3.1",
    behavior: "Spaces and UTF-8 may be escaped or not; other marks are themselves.",
  },
  "fs.path:bytes": {
    section: "3.1",
    behavior:
      "Escaped bytes that are not UTF-8 name a file, and come back escaped in URIs and replaced in names.",
  },
  "fs.path:bytes-in-trees": {
    section: "3.1",
    behavior: "Names that are not UTF-8 are copied and removed with their directory.",
  },

  "fs.error:permission": {
    section: "3.4",
    behavior: "What the system does not permit is an invalid request.",
  },
} satisfies Requirements;
