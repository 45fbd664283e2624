import { expect, it } from "vitest";
import { FakeDisk } from "../../../test/fixtures/fake-disk.ts";
import { describePolicy, policyLines } from "./describe-policy.ts";
import type { SandboxPolicy } from "./policy/sandbox-policy.ts";
import { viewOf } from "./view/view-of.ts";

const disk = new FakeDisk({
  home: { ws: { link: "/data/ws" } },
  data: { ws: { ".git": { HEAD: "" }, ".aws": {}, "a\n.env": "", sub: {} } },
  srv: { token: "" },
  usr: {},
  bin: { link: "usr/bin" },
});

const policy: SandboxPolicy = {
  files: {
    rules: [
      { kind: "path", path: "/", access: "read" },
      { kind: "path", path: "/home/ws", access: "write" },
      { kind: "path", path: "/usr", access: "deny" },
      { kind: "glob", pattern: "/data/ws/*.env", access: "deny" },
    ],
    systemDirectories: false,
  },
  network: "restricted",
};

it("a policy is described by what each path allows, and why", () => {
  const options = { files: { hiddenPaths: ["/srv/token"] }, disk };
  const description = describePolicy(policy, viewOf(policy, options), options);
  expect(description).toEqual({
    network: "restricted",
    everythingElse: "read",
    paths: [
      { path: "/data/ws", access: "write", reason: "rule for /home/ws" },
      { path: "/data/ws/.agents", access: "reserved", reason: "protected name in a writable directory" },
      { path: "/data/ws/.aws", access: "reserved", reason: "protected name in a writable directory" },
      { path: "/data/ws/.codex", access: "reserved", reason: "protected name in a writable directory" },
      { path: "/data/ws/.git", access: "read", reason: "protected name in a writable directory" },
      { path: "/data/ws/a\n.env", access: "hidden", reason: "matches a pattern" },
      { path: "/srv", access: "hidden", reason: "belongs to the server" },
      { path: "/usr", access: "hidden", reason: "rule" },
    ],
    patterns: ["/data/ws/*.env"],
  });
  expect(policyLines(description)).toEqual([
    "/data/ws          write     rule for /home/ws",
    "/data/ws/.agents  reserved  protected name in a writable directory",
    "/data/ws/.aws     reserved  protected name in a writable directory",
    "/data/ws/.codex   reserved  protected name in a writable directory",
    "/data/ws/.git     read      protected name in a writable directory",
    "/data/ws/a\\n.env  hidden    matches a pattern",
    "/srv              hidden    belongs to the server",
    "/usr              hidden    rule",
    "everything else   read      rule for /",
    "hidden when it matches: /data/ws/*.env",
    "network: none",
  ]);
});

it("links and system directories of an empty root are described", () => {
  const minimal: SandboxPolicy = { files: { rules: [], systemDirectories: true }, network: "proxied" };
  const linked = new FakeDisk({ usr: { bin: { sh: "" } }, bin: { link: "usr/bin" } });
  const view = viewOf(minimal, { disk: linked });
  expect(policyLines(describePolicy(minimal, view, { disk: linked }))).toEqual([
    "/bin             link      leads to usr/bin",
    "/usr             read      system directory",
    "everything else  hidden    no rule",
    "network: through the proxy only",
  ]);
});

it("names are shown with whatever deceives escaped", () => {
  const lines = policyLines({
    network: "restricted",
    everythingElse: "read",
    paths: [{ path: "/a\u009b31m\u202e", access: "hidden", reason: "rule for /b\u001b" }],
    patterns: ["/\u200b*"],
  });
  expect(lines).toEqual([
    "/a\\x9b31m\\u202e  hidden    rule for /b\\x1b",
    "everything else  read      rule for /",
    "hidden when it matches: /\\u200b*",
    "network: none",
  ]);
});
