import type { Requirements } from "./requirement.ts";

export const sandboxFilesRequirements = {
  "sandbox.files:announced": {
    section: "5.1",
    behavior: "Where there is a sandbox, streamed files and capability discovery in one are announced.",
  },
  "sandbox.files:reads-the-disk": {
    section: "11.3",
    behavior: "A policy that reads the whole disk reads files inside and outside of its writable directory.",
  },
  "sandbox.files:writes-inside": {
    section: "11.3",
    behavior: "Files are written, created, copied and removed inside a writable directory.",
  },
  "sandbox.files:writes-outside": {
    section: "11.3",
    behavior: "Every change outside of the writable directory fails with EROFS, and nothing changes.",
  },
  "sandbox.files:missing-parent": {
    section: "11.3",
    behavior: "A missing parent is ENOENT, inside and outside of the writable directory.",
  },
  "sandbox.files:shared-memory": {
    section: "11.3",
    behavior: "A directory in /dev/shm can be granted; the rest of it is not the machine's.",
  },
  "sandbox.files:harmless-outside": {
    section: "11.3",
    behavior:
      "Outside, what would change nothing succeeds: a directory that exists, the removal of what is missing.",
  },
  "sandbox.files:links-out": {
    section: "11.3",
    behavior:
      "A link that leads out of the writable directory cannot be written through: not a file, a directory, or a missing name.",
  },
  "sandbox.files:git": {
    section: "11.2",
    behavior: "Inside a writable directory, `.git` can be neither changed nor removed.",
  },
  "sandbox.files:denied-directory": {
    section: "11.2",
    behavior: "In a denied directory nothing can be read, listed, resolved, created or copied: EACCES.",
  },
  "sandbox.files:denied-name": {
    section: "11.2",
    behavior:
      "A denied directory itself is listed, described and resolved; a walk reports that it cannot enter.",
  },
  "sandbox.files:denied-pattern": {
    section: "11.2",
    behavior: "A file that matches a denied pattern can be neither read, nor copied, nor removed.",
  },
  "sandbox.files:denied-later": {
    section: "11.2",
    behavior: "A pattern also denies a file that was created between two calls.",
  },
  "sandbox.files:hidden": {
    section: "11.2",
    behavior: "What no entry grants does not exist: ENOENT for reads, descriptions, links to it and writes.",
  },
  "sandbox.files:hidden-siblings": {
    section: "11.2",
    behavior: "A directory above a granted one lists nothing but the way to it.",
  },
  "sandbox.files:granted-later": {
    section: "11.2",
    behavior: "A directory that is created between two calls is granted by the second.",
  },
  "sandbox.files:streamed-reads": {
    section: "6.2",
    behavior: "A file opened under a policy is read in blocks that carry no policy.",
  },
  "sandbox.files:streamed-reads-denied": {
    section: "6.2",
    behavior: "A hidden, denied or missing file cannot be opened, and its handle id stays free.",
  },
  "sandbox.files:streamed-writes": {
    section: "6.2",
    behavior:
      "A file opened with mode replace under a policy is written in blocks, visible before the close.",
  },
  "sandbox.files:streamed-writes-denied": {
    section: "6.2",
    behavior:
      "Mode replace fails outside: EROFS, also through a link and below `.git`; ENOENT without a parent.",
  },
  "sandbox.files:handle-ids": {
    section: "6.2",
    behavior: "Handles share one space of ids and one limit, whatever their policies.",
  },
  "sandbox.files:order-of-checks": {
    section: "11.3",
    behavior: "A bad path is reported before a bad context, and that before bad contents or a bad handle id.",
  },
  "sandbox.files:unconfined": {
    section: "11.3",
    behavior:
      "The profiles disabled and external, an unrestricted file system, and write access to the root confine nothing.",
  },
  "sandbox.files:pipelined": {
    section: "11.3",
    behavior: "Pipelined calls with different policies take effect in their order.",
  },
  "sandbox.files:large": {
    section: "11.3",
    behavior: "Several megabytes pass unchanged in both directions.",
  },
  "sandbox.discovery:roots": {
    section: "7.1",
    behavior: "Capability roots are searched under their policies: a hidden skill is not found.",
  },
  "sandbox.discovery:environment": {
    section: "7.2",
    behavior: "capabilities/discoverV2 finds nothing in a home that its policy hides.",
    transports: ["ws"],
  },
  "sandbox.discovery:bad-context": {
    section: "7.1",
    behavior: "A bad context of one capability root fails the request.",
  },
} satisfies Requirements;
