import { defineConfig } from "vitest/config";
import { SlowFirst } from "./test/fixtures/slow-first.ts";

/** These measure time or memory while they use all of the machine: one at a time. */
const LOAD = [
  "test/client/flood-recovery.test.ts",
  "test/client/large-output.test.ts",
  "test/fault/http-memory.test.ts",
  "test/fault/http-streams.test.ts",
  "test/fault/large-output.test.ts",
  "test/fault/many-readers.test.ts",
  "test/fault/pipelining.test.ts",
  "test/fault/pty-tail.test.ts",
  "test/fault/start-extremes.test.ts",
  "test/fault/unread-answers.test.ts",
  "test/fleet/bad-network.test.ts",
  "test/relay/bad-network.test.ts",
  "test/relay/size.test.ts",
];

/** These have deadlines of a few seconds, or run the real client, which has its own; they wait most of the time. */
const WAITING = [
  "test/client/browser-bundle.test.ts",
  "test/client/closing.test.ts",
  "test/client/faults.test.ts",
  "test/client/silent-network.test.ts",
  "test/e2e/codex-*.test.ts",
  "test/fault/bad-input.test.ts",
  "test/fault/file-races.test.ts",
  "test/fault/http-bad-upstreams.test.ts",
  "test/fault/left-behind.test.ts",
  "test/fault/limits-roots.test.ts",
  "test/fault/no-descriptors.test.ts",
  "test/fault/orphans.test.ts",
  "test/fault/sandbox-files.test.ts",
];

/**
 * Unit tests that replace modules, or count what the whole process has open (its timers, too): each file in a process
 * of its own.
 */
const ISOLATED = [
  "src/base/base64.test.ts",
  "src/capabilities/buffer-pool.test.ts",
  "src/capabilities/{files,process,sandbox}/**/*.test.ts",
  "src/capabilities/host/connection-owner.test.ts",
  "src/client/{session/silent-calls,tools/yield-window}.test.ts",
  "src/fleet/opening.test.ts",
  "src/native/**/*.test.ts",
  "src/rows/ledger/lock-file.test.ts",
  "src/rpc/{encode-request,pending-requests}.test.ts",
  "src/server/access/{credential,token-comparison,token-table}.test.ts",
  "src/server/audit/{audit-log,audit-sync,refusal-lines,tallies}.test.ts",
  "src/server/run-as/user-servers.test.ts",
  "src/server/serve/{deprecation,occupancy,serve}.test.ts",
  "src/server/sessions/{process-table,session-registry,wait-for-process}.test.ts",
  "test/pins/loaded-late.test.ts",
];

/** What a server can do to its clients; the other hostile tests measure what strangers do to a server. */
const LYING_SERVER = "test/hostile/lying-server.test.ts";

/** Suites that hold over NATS too, and a part of them that passes there every time. FLEET_WHOLE=1 runs all of them. */
const OVER_NATS = {
  whole: [
    "test/conformance/**/*.test.ts",
    "test/client/{closing,copies,end-to-end,errors,extensions,host-events,kept,kept-attacked,large-output}.test.ts",
    "test/client/{mirror,network,sandbox,server-sandbox,slow-body,streams,trees,trees-attacked,unsendable}.test.ts",
  ],
  part: [
    "test/conformance/{handshake,ordering,process-events,process-flow,process-read,sessions}.test.ts",
    "test/client/{end-to-end,extensions,kept}.test.ts",
  ],
};

/** What holds through a relay too, with this project's executor and the real one: RELAY_WHOLE=1 runs all of it. */
const OVER_RELAY = {
  whole: ["test/conformance/**/*.test.ts"],
  part: ["test/conformance/{handshake,ordering,process-events}.test.ts"],
};

/** Starts the servers that the conformance tests of a file are about. */
const TARGETS = "test/conformance/targets-setup.ts";

/** Seeds property tests. */
const SEED = "test/fixtures/property-seed.ts";

/** Shows what the pages of a failed test showed. */
const PAGES = "test/console/report-pages.ts";

export default defineConfig({
  test: {
    pool: "forks",
    // The projects of `npm test` share most of their modules.
    experimental: { fsModuleCache: true },
    sequence: { sequencer: SlowFirst },
    // A deadline, for a machine that does something else: what is waited for is usually there at once. Concurrent tests
    // use `pollUntil`: a poll of Vitest fails if another test ends just before it begins.
    expect: { poll: { timeout: 20_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "test/pins/**/*.test.ts", "test/deploy/**/*.test.ts"],
          exclude: ISOLATED,
          setupFiles: [SEED],
          // Files share their modules: loading them again takes longer than most of the tests.
          isolate: false,
          // For a machine that does something else; what must be fast measures it.
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "unit-isolated",
          include: ISOLATED,
          setupFiles: [SEED],
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "conformance",
          include: ["test/conformance/**/*.test.ts"],
          setupFiles: [TARGETS],
          isolate: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          // Permissions do not bind root, so `npm test` runs these as somebody else, too.
          name: "ordinary-user",
          include: ["src/capabilities/files/**/*.test.ts", "test/conformance/files-*.test.ts"],
          setupFiles: [TARGETS],
          env: { CONFORMANCE_TARGETS: "ours-memory" },
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "fault",
          include: [
            "test/fault/**/*.test.ts",
            "test/e2e/**/*.test.ts",
            "test/client/**/*.test.ts",
            "test/access/**/*.test.ts",
            "test/rows/**/*.test.ts",
            "test/fleet/**/*.test.ts",
            "test/fuzz/**/*.test.ts",
            "test/relay/**/*.test.ts",
          ],
          exclude: [...LOAD, ...WAITING],
          setupFiles: [SEED],
          // Files share their modules: loading the server again takes longer than most of them.
          isolate: false,
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: "waiting",
          include: WAITING,
          testTimeout: 300_000,
          hookTimeout: 120_000,
          // Few at a time, so that nobody's seconds are taken by the others.
          maxWorkers: 3,
        },
      },
      {
        extends: true,
        test: {
          name: "load",
          include: LOAD,
          testTimeout: 300_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      {
        extends: true,
        test: {
          name: "fleet",
          include: process.env["FLEET_WHOLE"] === "1" ? OVER_NATS.whole : OVER_NATS.part,
          setupFiles: [TARGETS],
          env: { CONFORMANCE_TARGETS: "ours-nats", TEST_TRANSPORT: "nats" },
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "relay",
          include: process.env["RELAY_WHOLE"] === "1" ? OVER_RELAY.whole : OVER_RELAY.part,
          setupFiles: [TARGETS],
          env: { CONFORMANCE_TARGETS: "ours-relay,codex-relay" },
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "cli",
          include: ["test/cli/**/*.test.ts"],
          isolate: false,
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "console",
          include: ["test/console/*.test.ts"],
          setupFiles: [PAGES],
          isolate: false,
          // For a machine that does something else: a browser takes all that it gets.
          testTimeout: 240_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 60_000 } },
        },
      },
      {
        extends: true,
        test: {
          // Figures of a page count only if no other page takes the machine.
          name: "console-measured",
          include: ["test/console/measured/*.test.ts"],
          setupFiles: [PAGES],
          testTimeout: 240_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 60_000 } },
          fileParallelism: false,
        },
      },
      {
        extends: true,
        test: {
          name: "sandbox",
          include: ["test/sandbox/**/*.test.ts"],
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: "hostile",
          include: ["test/hostile/**/*.test.ts"],
          exclude: [LYING_SERVER],
          testTimeout: 600_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      {
        extends: true,
        test: {
          // Measures nothing but the memory of its own program, so it needs no machine for itself.
          name: "hostile-server",
          include: [LYING_SERVER],
          testTimeout: 600_000,
        },
      },
    ],
  },
});
