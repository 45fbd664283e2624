import type { Requirements } from "./requirement.ts";

// The configuration is in the server's home, so each of these starts a server with its own home.
const home = { section: "5.3", transports: ["cli"] } as const;

export const environmentConfigRequirements = {
  "config.read:required-members": {
    section: "5.3",
    behavior: "cwd, configPaths and requirementsPaths are required.",
  },
  "config.read:member-types": {
    section: "5.3",
    behavior: "A member of another type, null included, is refused.",
  },
  "config.read:unknown-members": { section: "5.3", behavior: "Unknown members are ignored." },
  "config.read:no-path": { section: "5.3", behavior: "At least one path of either kind is required." },
  "config.read:empty-path": { section: "5.3", behavior: "A path without a key is refused, of either kind." },
  "config.read:cwd": {
    section: "5.3",
    behavior: "cwd must be a path of this kind of machine; paths are checked before it.",
  },
  "config.read:result": {
    ...home,
    behavior: "The answer names both homes, the host and two stacks of layers.",
  },
  "config.read:no-file": { ...home, behavior: "Without a configuration both stacks are empty." },
  "config.read:user-layer": {
    ...home,
    behavior: "config.toml of the Codex home is the user layer, and relative paths in it start there.",
  },
  "config.read:default-home": {
    ...home,
    behavior: "Without CODEX_HOME, or with an empty one, it is ~/.codex.",
  },
  "config.read:linked-home": { ...home, behavior: "The Codex home is reported without links, and absolute." },
  "config.read:missing-home": {
    ...home,
    behavior: "CODEX_HOME that does not exist is an error of each read.",
  },
  "config.read:fresh": { ...home, behavior: "Every read reads the files again." },
  "config.read:projection": { ...home, behavior: "A layer holds the selected keys and nothing else." },
  "config.read:nothing-selected": {
    ...home,
    behavior: "A layer with none of the selected keys is left out.",
  },
  "config.read:literal-keys": {
    ...home,
    behavior: "A key is taken literally: a dot in it separates nothing.",
  },
  "config.read:beyond-a-value": {
    ...home,
    behavior: "A path that continues where the value is not a table selects the whole value.",
  },
  "config.read:missing-below": {
    ...home,
    behavior: "A path that ends nowhere inside a table selects that table, empty.",
  },
  "config.read:overlap": { ...home, behavior: "Paths that repeat or lie below one another select once." },
  "config.read:toml": {
    ...home,
    behavior: "Layers are written anew: file order, values before tables, tables never inline, no comments.",
  },
  "config.read:toml-values": {
    ...home,
    behavior: "Numbers, dates and arrays keep their value in plain notation.",
  },
  "config.read:array-of-tables": { ...home, behavior: "Arrays of tables are written as such." },
  "config.read:unknown-keys": {
    ...home,
    behavior: "Keys Codex does not know, and values it would not take, are kept.",
  },
  "config.read:malformed": {
    ...home,
    behavior: "A configuration that is no TOML is an error with file, line and column.",
  },
  "config.read:not-a-file": { ...home, behavior: "A configuration that is a directory is an error." },
  "config.read:missing-cwd": { ...home, behavior: "cwd need not exist, nor be a directory." },
  "config.project:trusted": {
    ...home,
    behavior:
      ".codex/config.toml of a trusted directory is a layer above the user's, and paths start in .codex.",
  },
  "config.project:untrusted": { ...home, behavior: "A directory that is not trusted adds no layer." },
  "config.project:exact": {
    ...home,
    behavior: "Trust names a directory exactly: trusting its parent, or adding a slash, means nothing.",
  },
  "config.project:repository": {
    ...home,
    behavior: "In a trusted repository every directory from its root to cwd adds a layer, the root's first.",
  },
  "config.project:no-repository": {
    ...home,
    behavior: "Outside of a repository only cwd itself counts; an empty .git makes none.",
  },
  "config.project:markers": { ...home, behavior: "project_root_markers names other signs of a root." },
  "config.project:trusted-below": {
    ...home,
    behavior: "A trusted directory inside an untrusted repository adds its own layer only.",
  },
  "config.project:withheld-keys": {
    ...home,
    behavior: "A project cannot set where requests go, who is notified, or profiles.",
  },
  "config.project:malformed": {
    ...home,
    behavior: "A trusted project's configuration that is no TOML is an error.",
  },
  "config.project:trust-level": { ...home, behavior: "An unknown trust level is an error." },
  "config.project:codex-home": { ...home, behavior: "The Codex home is no project." },
} satisfies Requirements;
