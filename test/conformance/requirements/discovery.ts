import type { Requirements } from "./requirement.ts";

const rootsRequirements = {
  "discovery.v1:params": {
    section: "7.1",
    behavior: "roots is required, and so are id and path of each root.",
  },
  "discovery.v1:member-types": {
    section: "7.1",
    behavior: "A member of another type, null included, is refused.",
  },
  "discovery.v1:unknown-members": {
    section: "7.1",
    behavior: "Unknown members are ignored, and sandbox may be null.",
  },
  "discovery.v1:no-roots": { section: "7.1", behavior: "No roots, no results." },
  "discovery.v1:empty-root": {
    section: "7.1",
    behavior: "A root with nothing in it has every member, empty or null.",
  },
  "discovery.v1:order": {
    section: "7.1",
    behavior: "Results come in the order of the roots; ids may repeat or be empty.",
  },
  "discovery.v1:limit": { section: "7.1", behavior: "128 roots are searched, 129 are refused." },
  "discovery.v1:path-echo": { section: "7.1", behavior: "A root's path comes back as it was given." },
  "discovery.v1:missing-root": { section: "7.1", behavior: "A missing root is an error of that root alone." },
  "discovery.v1:file-root": {
    section: "7.1",
    behavior: "A root that is a file is an error of that root alone.",
  },
  "discovery.v1:foreign-root": {
    section: "7.1",
    behavior:
      "A path of another system is an error of that root; what is no path URI is an error of the call.",
  },
  "discovery.v1:fresh": { section: "7.1", behavior: "Every call looks at the files again." },
} satisfies Requirements;

const skillsRequirements = {
  "discovery.v1.skills:found": {
    section: "7.1",
    behavior: "Every SKILL.md is found, the root's own included.",
  },
  "discovery.v1.skills:contents": {
    section: "7.1",
    behavior: "Contents are the file's text, whatever it says.",
  },
  "discovery.v1.skills:sorted": { section: "7.1", behavior: "Skills are sorted by the bytes of their URIs." },
  "discovery.v1.skills:spelling": {
    section: "7.1",
    behavior: "Only files named SKILL.md in capitals count.",
  },
  "discovery.v1.skills:metadata": {
    section: "7.1",
    behavior: "agents/openai.yaml beside a skill is its metadata.",
  },
  "discovery.v1.skills:hidden": {
    section: "7.1",
    behavior: "Hidden directories are searched like any other.",
  },
  "discovery.v1.skills:depth": {
    section: "7.1",
    behavior: "Skills are found up to six directories below the root.",
  },
  "discovery.v1.skills:links": {
    section: "7.1",
    behavior:
      "Links to directories are followed, each directory once under the first name; links to files are not.",
  },
  "discovery.v1.skills:linked-root": {
    section: "7.1",
    behavior: "A root may be a link, and paths go through it.",
  },
  "discovery.v1.skills:not-utf8": {
    section: "7.1",
    behavior: "A file that is not UTF-8 is left out with a warning.",
  },
  "discovery.v1.skills:metadata-not-utf8": {
    section: "7.1",
    behavior: "A skill whose metadata is not UTF-8 stays, without it and with a warning.",
  },
  "discovery.v1.skills:file-limit": {
    section: "7.1",
    behavior: "A file of 1 MiB is read; a longer one is left out with a warning.",
  },
  "discovery.v1.skills:root-limit": {
    section: "7.1",
    behavior: "16 MiB are read of one root; what is beyond is left out with a warning.",
  },
  "discovery.v1.skills:directory-limit": {
    section: "7.1",
    behavior: "A root of more than 2000 directories is searched in part, with a warning.",
  },
} satisfies Requirements;

const pluginRequirements = {
  "discovery.v1.plugin:precedence": {
    section: "7.1",
    behavior: "The manifest is plugin.json in .codex-plugin, else .claude-plugin, else .cursor-plugin.",
  },
  "discovery.v1.plugin:unusable-manifest": {
    section: "7.1",
    behavior: "A manifest that is a directory, not UTF-8 or too long gives way to the next.",
  },
  "discovery.v1.plugin:any-text": { section: "7.1", behavior: "A manifest need not be JSON." },
  "discovery.v1.plugin:default-files": {
    section: "7.1",
    behavior: "Without a word in the manifest, .mcp.json and .app.json are its files.",
  },
  "discovery.v1.plugin:named-files": {
    section: "7.1",
    behavior: "mcpServers and apps name other files, relative to the root.",
  },
  "discovery.v1.plugin:named-missing": {
    section: "7.1",
    behavior: "A file that is named and does not exist is null: there is no way back to the default.",
  },
  "discovery.v1.plugin:inline-servers": {
    section: "7.1",
    behavior: "mcpServers that is an object means no file; any other value but a string means the default.",
  },
  "discovery.v1.plugin:path-start": {
    section: "7.1",
    behavior: "A path that does not start with ./ is ignored with a warning.",
  },
  "discovery.v1.plugin:path-outside": {
    section: "7.1",
    behavior: "A path that has .. in it or names the root itself is ignored with a warning.",
  },
  "discovery.v1.namespaces:root": {
    section: "7.1",
    behavior: "The root's own manifest is the first namespace.",
  },
  "discovery.v1.namespaces:below": {
    section: "7.1",
    behavior: "Manifests below the root follow in the order of their URIs, one for each directory.",
  },
  "discovery.v1.namespaces:ancestor": {
    section: "7.1",
    behavior: "Without a manifest of its own a root has the nearest ancestor's, and it is not its plugin.",
  },
  "discovery.v1.namespaces:depth": {
    section: "7.1",
    behavior: "Manifests are found up to five directories below the root.",
  },
} satisfies Requirements;

// Results depend on the server's homes, so each of these starts a server with its own homes.
const v2 = { section: "7.2", transports: ["cli"] } as const;

const environmentRequirements = {
  "discovery.v2:params": {
    section: "7.2",
    behavior: "cwd is required and must be a path URI; sandbox may be null.",
  },
  "discovery.v2:cwd": {
    ...v2,
    behavior: "The result is the same for every cwd, also for one that does not exist.",
  },
  "discovery.v2:nothing": { ...v2, behavior: "Empty homes have no plugins, no skills and no warnings." },
  "discovery.v2:fresh": { ...v2, behavior: "What is added is found ten seconds later at most." },
  "discovery.v2.skills:result": {
    ...v2,
    behavior: "A skill has all its members, null where nothing is known.",
  },
  "discovery.v2.skills:roots": {
    ...v2,
    behavior: "Skills come from skills of the Codex home, then from .agents/skills of the user's home.",
  },
  "discovery.v2.skills:sorted": {
    ...v2,
    behavior: "The skills of a root are sorted by the bytes of their URIs.",
  },
  "discovery.v2.skills:depth": {
    ...v2,
    behavior: "Skills are found in hidden directories and six levels down.",
  },
  "discovery.v2.skills:links": {
    ...v2,
    behavior: "Links to directories are followed, links to files are not.",
  },
  "discovery.v2.skills:front-matter": {
    ...v2,
    behavior: "Name and description are YAML scalars of any form, with runs of white space made one blank.",
  },
  "discovery.v2.skills:default-name": { ...v2, behavior: "A skill without a name has its directory's." },
  "discovery.v2.skills:equal-names": { ...v2, behavior: "Skills of the same name are all listed." },
  "discovery.v2.skills:short-description": {
    ...v2,
    behavior: "The short description is metadata.short-description, trimmed, and nothing else.",
  },
  "discovery.v2.skills:name-length": { ...v2, behavior: "A name has at most 64 characters." },
  "discovery.v2.skills:unusable": {
    ...v2,
    behavior: "A skill without front matter or description is left out; one warning tells for each root.",
  },
  "discovery.v2.skills:dependencies": {
    ...v2,
    behavior: "agents/openai.yaml tells which tools a skill needs.",
  },
  "discovery.v2.skills:policy": {
    ...v2,
    behavior: "agents/openai.yaml tells the policy; products in lower case.",
  },
  "discovery.v2.skills:bad-metadata": {
    ...v2,
    behavior: "Metadata that cannot be used is as good as none, without a warning.",
  },
  "discovery.v2.skills:namespace": {
    ...v2,
    behavior: "A plugin manifest above a skill puts its name and a colon before the skill's.",
  },
  "discovery.v2.plugins:result": {
    ...v2,
    behavior: "A plugin in plugins/cache/MARKETPLACE/NAME/VERSION is listed with its files and skills.",
  },
  "discovery.v2.plugins:sorted": { ...v2, behavior: "Plugins are sorted by id, which is name@marketplace." },
  "discovery.v2.plugins:disabled": {
    ...v2,
    behavior: "The configuration neither adds a plugin nor takes one away.",
  },
  "discovery.v2.plugins:version": {
    ...v2,
    behavior: "Of several versions local is taken, else the greatest, by version rules or else by text.",
  },
  "discovery.v2.plugins:newest-only": {
    ...v2,
    behavior: "When the greatest version is no plugin an older one is not taken instead.",
  },
  "discovery.v2.plugins:display-name": {
    ...v2,
    behavior: "The display name is the interface's, else the manifest's name, else the directory's.",
  },
  "discovery.v2.plugins:unusable": {
    ...v2,
    behavior: "A plugin without a usable manifest is left out, with a warning for each.",
  },
  "discovery.v2.plugins:names": {
    ...v2,
    behavior: "Directories whose names no plugin, marketplace or version can have are passed over.",
  },
  "discovery.v2.plugins:skills": {
    ...v2,
    behavior: "Every skill below a plugin is its own, under the name of the nearest manifest.",
  },
  "discovery.v2.plugins:remote-id": {
    ...v2,
    behavior: ".codex-remote-plugin-install.json beside the versions tells the remote id.",
  },
  "discovery.v2.plugins:bad-remote-id": {
    ...v2,
    behavior: "A remote id that cannot be read is null, with a warning.",
  },
} satisfies Requirements;

export const discoveryRequirements = {
  ...rootsRequirements,
  ...skillsRequirements,
  ...pluginRequirements,
  ...environmentRequirements,
} satisfies Requirements;
