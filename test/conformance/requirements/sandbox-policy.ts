import type { Requirement, Requirements } from "./requirement.ts";

/** The real server says the same on both of its carriers, and a policy does not depend on ours. */
const transports = ["ws"] as const;

function policy(behavior: string, more: Partial<Requirement> = {}): Requirement {
  return { section: "11.2", behavior, transports, ...more };
}

const accessRequirements = {
  "sandbox.policy:read-all": policy("With the root readable, everything can be read and nothing written."),
  "sandbox.policy:codex-workspace": policy(
    "As Codex sends it for workspace-write: the workspace, /tmp and TMPDIR are writable, everything else is readable.",
  ),
  "sandbox.policy:write-all": policy(
    "With the root writable, or an unrestricted file system, everything can be written, .git included.",
  ),
  "sandbox.policy:minimal": policy(
    "`minimal` shows /usr, /etc, /bin and /lib, which cannot be written. Nothing else exists, but /dev and /proc.",
  ),
  "sandbox.policy:invisible": policy("What no entry grants does not exist, beside what one grants."),
  "sandbox.policy:specific": policy(
    "The more specific entry wins: read in write, write in read, deny in write.",
  ),
  "sandbox.policy:same-path": policy("Of entries for the same path, deny wins, then write; none is deny."),
  "sandbox.policy:denied": policy("What is denied exists, but can be neither read, listed nor written."),
  "sandbox.policy:write-in-denied": policy(
    "A writable directory in a denied one can be reached; what is beside it does not exist.",
  ),
  "sandbox.policy:read-in-denied": policy("A readable directory in a denied one can be reached.", {
    origin: "ours",
    note: "Codex hides it.",
  }),
  "sandbox.policy:write-file": policy("A file can be writable by itself.", {
    origin: "ours",
    note: "Codex: the process ends with 101.",
  }),
} satisfies Requirements;

const protectionRequirements = {
  "sandbox.policy:protected": policy(
    "In a writable root, .git, .agents, .codex and .aws are read-only, even if only the root is listed.",
  ),
  "sandbox.policy:protected-missing": policy(
    "Those that do not exist cannot be created; they look like empty directories, and are gone afterwards.",
  ),
  "sandbox.policy:protected-nested": policy("Below directories of a writable root, these names are free."),
  "sandbox.policy:protected-explicit": policy(
    "An entry that makes such a name writable wins, whether it exists or not.",
  ),
  "sandbox.policy:protected-link": policy("A link with such a name is refused with an error of the start.", {
    origin: "ours",
    note: "Codex starts the process, which ends with 1 and the same text on stderr.",
  }),
  "sandbox.policy:protected-link-codex": policy(
    "A link with such a name ends the process with 1 and a text.",
    {
      origin: "codex",
      note: "Refused with an error of the start.",
    },
  ),
  "sandbox.policy:worktree": policy(
    "A .git that is a file is read-only, and so is the directory that it points to.",
  ),
} satisfies Requirements;

const pathRequirements = {
  "sandbox.policy:missing-write": policy("A writable entry for a path that does not exist is ignored."),
  "sandbox.policy:missing-reserved": policy(
    "In a writable root, readable and denied entries that do not exist cannot be created, with skip or without.",
  ),
  "sandbox.policy:link": policy("An entry for a link applies to its target."),
  "sandbox.policy:link-denied": policy("A denied link hides its target.", {
    origin: "ours",
    note: "Codex: bubblewrap fails, and the process ends with 1.",
  }),
  "sandbox.policy:link-writable": policy(
    "An entry that crosses a link in a writable directory is refused with an error of the start.",
    { origin: "ours", note: "Codex starts the process, which ends with 1; a writable entry is granted." },
  ),
  "sandbox.policy:tmpdir": policy("`tmpdir` is the TMPDIR of the process, and nothing without one."),
  "sandbox.policy:project-roots": policy(
    "`project_roots` are the workspace roots, and never the cwd; a subpath is below each of them.",
  ),
  "sandbox.policy:subpath": policy("A subpath that is absolute or contains dots grants nothing."),
  "sandbox.policy:policy-context": policy(
    "A policyContext replaces cwd and workspace roots; without roots of its own there are none.",
  ),
  "sandbox.policy:unknown": policy("An unknown special path has no effect."),
} satisfies Requirements;

const patternRequirements = {
  "sandbox.policy:pattern": policy("A denied pattern hides what matches when the process starts."),
  "sandbox.policy:pattern-relative": policy(
    "A relative pattern starts at the context's cwd, and at the process's if there is none.",
  ),
  "sandbox.policy:pattern-odd-directory": policy(
    "Characters in the name of the cwd are no wildcards of a relative pattern.",
    { origin: "ours", note: "Codex takes them for wildcards, and leaves the files readable." },
  ),
  "sandbox.policy:pattern-depth": policy("glob_scan_max_depth limits how deep a pattern searches."),
  "sandbox.policy:pattern-classes": policy("`?`, `[ab]`, `[!a]` and `[^a]` match one character of a name."),
  "sandbox.policy:pattern-grant": policy("A readable or writable pattern has no effect."),
  "sandbox.policy:pattern-directory": policy("A directory that matches is hidden with everything in it.", {
    origin: "ours",
    note: "Codex hides files only.",
  }),
  "sandbox.policy:pattern-refused": policy(
    "A pattern that begins with a wildcard at the root, or has braces, is refused with an error of the start.",
    { origin: "ours", note: "Codex starts the process, which ends with 1 and the same text on stderr." },
  ),
  "sandbox.policy:pattern-refused-codex": policy("Such a pattern ends the process with 1 and a text.", {
    origin: "codex",
    note: "Refused with an error of the start.",
  }),
} satisfies Requirements;

const errorRequirements = {
  "sandbox.context:not-a-path": policy(
    "Text that is no path URI is refused wherever it is in the context, used or not.",
    { section: "11.1" },
  ),
  "sandbox.context:foreign": policy(
    "A path that cannot exist on this host is refused: cwd first, then workspace roots, then entries.",
    { section: "11.1", since: "0.169.0" },
  ),
  "sandbox.context:foreign-0.166": policy("Up to 0.166 entries came first, and the messages were others.", {
    section: "11.1",
    until: "0.166.0",
  }),
  "sandbox.context:foreign-disabled": policy(
    "cwd and workspace roots are checked even if the profile is disabled.",
    { section: "11.1", since: "0.169.0" },
  ),
  "sandbox.context:foreign-unused": policy(
    "A home or temporary directory that cannot exist on this host is no error.",
    { section: "11.1" },
  ),
  "sandbox.context:before-cwd": policy(
    "The context is checked before the working directory, and after an empty argv.",
    {
      section: "11.1",
      since: "0.169.0",
    },
  ),
  "sandbox.context:files-not-a-path": policy("So it is for file calls.", { section: "11.1" }),
  "sandbox.context:files-foreign": policy(
    "For file calls, a path that cannot exist on this host is an invalid request: entries first, then cwd, then workspace roots.",
    { section: "11.1" },
  ),
  "sandbox.context:files-dynamic": policy(
    "A file call whose permissions depend on a cwd, but have none, is refused before its paths are checked.",
    { section: "11.3" },
  ),
  "sandbox.context:not-utf8": policy("A path that is not UTF-8 is refused.", {
    section: "11.1",
    origin: "ours",
    note: "Codex never answers.",
  }),
} satisfies Requirements;

export const sandboxPolicyRequirements = {
  ...accessRequirements,
  ...protectionRequirements,
  ...pathRequirements,
  ...patternRequirements,
  ...errorRequirements,
} satisfies Requirements;
