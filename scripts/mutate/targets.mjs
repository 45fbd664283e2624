// What `npm run mutate` changes, and which suites look at it besides unit tests.

const CONFORMANCE = "test/conformance";

const CLIENT_SESSION = [
  "recovery",
  "errors",
  "closing",
  "deadlines",
  "repeating",
  "broken-contract",
  "bounds",
  "extensions",
  "end-to-end",
  "streams",
  "connecting",
].map((name) => `test/client/${name}.test.ts`);

/**
 * `carriers` are those of the conformance tests, see CONFORMANCE_TARGETS. `checks` are scripts that compare the sources
 * with what is generated from them.
 */
export const TARGETS = [
  {
    folder: "src/protocol",
    // A schema is built once in a program, so only its first test would be known to run it.
    byFile: true,
    // What is promised of the wire is generated from it.
    checks: ["scripts/generate-docs.mjs", "scripts/generate-wire-shapes.mjs"],
    suites: [
      "values",
      "framing-json",
      "framing-envelope",
      "framing-ids",
      "process-start",
      "files-params",
      "extensions",
      "process-list",
      "server-status",
      "environment",
    ].map(conformance),
  },
  {
    folder: "src/rpc",
    suites: [
      "framing-envelope",
      "framing-ids",
      "framing-json",
      "framing-closing",
      "ordering",
      "overtaking",
      "values",
      "handshake",
      "handshake-gates",
    ]
      .map(conformance)
      .concat("test/client/errors.test.ts", "test/fault/limits-queues.test.ts"),
  },
  {
    folder: "src/capabilities/process",
    suites: [
      "process-start",
      "process-events",
      "process-read",
      "process-write",
      "process-input",
      "process-terminal",
      "process-signal",
      "process-terminate",
      "process-ending",
      "process-environment",
      "process-lookup",
      "process-spawn",
      "process-start-failures",
      "process-start-extensions",
      "process-flow",
      "process-list",
      "process-keep",
      "sandbox-denied",
    ]
      .map(conformance)
      .concat("test/fault/left-behind.test.ts", "test/fault/orphans.test.ts"),
  },
  {
    folder: "src/capabilities/files",
    suites: [
      "files-write-file",
      "files-read-file",
      "files-copy",
      "files-handles",
      "files-hash",
      "files-links",
      "files-metadata",
      "files-missing-changed",
      "files-modes",
      "files-params",
      "files-paths",
      "files-remove",
      "files-rename",
      "files-walk",
      "files-watch-tree",
      "files-watch",
      "files-write-blocks",
      "sandbox-files",
    ]
      .map(conformance)
      .concat(
        "test/fault/file-errors.test.ts",
        "test/fault/file-replacement.test.ts",
        "test/fault/file-trees.test.ts",
        "test/fault/limits-roots.test.ts",
        "test/fault/roots-model.test.ts",
      ),
  },
  {
    folder: "src/capabilities/sandbox",
    carriers: "ours-ws",
    suites: [
      "sandbox-policy",
      "sandbox-process",
      "sandbox-files",
      "sandbox-contexts",
      "sandbox-terminal",
      "sandbox-denied",
    ]
      .map(conformance)
      .concat(
        "test/client/server-sandbox.test.ts",
        "test/fault/sandbox-policies.test.ts",
        "test/e2e/sandbox-explain.test.ts",
        "test/e2e/doctor.test.ts",
        "test/sandbox/without-bwrap.test.ts",
        "test/sandbox/escapes.test.ts",
      ),
  },
  {
    folder: "src/server/access",
    carriers: "ours-ws,ours-cli",
    suites: [
      "test/access/presets.test.ts",
      "test/access/signed-rights.test.ts",
      "test/access/token-table.test.ts",
      conformance("authentication-jwt"),
      conformance("authentication"),
      conformance("authentication-start"),
      "test/fault/admission.test.ts",
      "test/fault/strangers.test.ts",
      "test/access/run-as.test.ts",
    ],
  },
  {
    folder: "src/server/sessions",
    suites: [
      "sessions",
      "session-takeover",
      "handshake",
      "process-events",
      "process-read",
      "process-write",
      "process-flow",
      "process-list",
      "process-wait",
      "process-retention",
      "process-attach",
      "process-keep",
      "process-start",
      "ordering",
    ]
      .map(conformance)
      .concat(
        "test/client/recovery.test.ts",
        "test/client/kept.test.ts",
        "test/client/flood-recovery.test.ts",
        "test/fault/exit-when-idle.test.ts",
        "test/fault/limits-processes.test.ts",
        "test/fault/start-retries.test.ts",
      ),
  },
  {
    folder: "src/server/audit",
    suites: [
      "test/access/audit.test.ts",
      "test/fault/audit-full-disk.test.ts",
      "test/cli/audit.test.ts",
      "test/sandbox/audit-hidden.test.ts",
    ],
  },
  ...["calls", "link", "routes", "session"].map((room) => ({
    folder: `src/client/${room}`,
    suites: CLIENT_SESSION,
  })),
  {
    folder: "src/rows/ledger",
    suites: ["test/cli/map.test.ts", "test/cli/full-disk.test.ts", "test/rows/agent-jobs.test.ts"],
  },
  {
    folder: "src/fleet",
    suites: [
      "over-nats",
      "open-fleet",
      "serve-fleet",
      "secure-nats",
      "trust",
      "cluster",
      "credentials-files",
      "refused-again",
    ].map((name) => `test/fleet/${name}.test.ts`),
  },
];

/** Made by programs, or tables of numbers of which this processor uses half. */
export const EXCLUDED = [
  "src/client/calls/wire-shapes.ts",
  "src/capabilities/process/ending/warden-script.ts",
  "src/capabilities/sandbox/seccomp/system-calls.ts",
];

/** @param {string} name */
function conformance(name) {
  return `${CONFORMANCE}/${name}.test.ts`;
}
