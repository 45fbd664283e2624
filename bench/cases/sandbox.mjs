import { readFile } from "node:fs/promises";
import { openFilesFixture } from "../files-fixture.mjs";
import { patternBytes } from "../pattern.mjs";
import { inSession } from "../session.mjs";
import { quantile } from "../statistics.mjs";
import { withDeadline } from "../waiting.mjs";

const KIB = 1024;
const CONTENT = patternBytes(KIB).toString("base64");

/** What Codex sends for `workspace-write`: everything can be read, the workspace written, no network. */
const sandboxOf = (workspace) => ({
  permissions: {
    type: "managed",
    file_system: {
      type: "restricted",
      entries: [
        { path: { type: "special", value: { kind: "root" } }, access: "read" },
        { path: { type: "special", value: { kind: "project_roots" } }, access: "write" },
      ],
    },
    network: "restricted",
  },
  cwd: workspace,
  workspaceRoots: [workspace],
  windowsSandboxLevel: "disabled",
});

async function measure(server, fixture, count) {
  return inSession(server, async (session) => {
    const sandbox = sandboxOf(fixture.uri(""));
    const median = async (work) => {
      const times = [];
      for (let i = 0; i < count; i++) {
        const begun = performance.now();
        await withDeadline(work(), "a sandboxed request");
        times.push(performance.now() - begun);
      }
      return quantile(times, 0.5);
    };
    const path = fixture.uri("small");
    const target = fixture.uri("written");
    const values = {
      "start p50 ms": await median(() => session.run(["true"], { sandbox })),
      "write p50 ms": await median(() =>
        session.wire.request("fs/writeFile", { path: target, dataBase64: CONTENT, sandbox }),
      ),
      "read p50 ms": await median(() => session.wire.request("fs/readFile", { path, sandbox })),
    };
    if ((await readFile(fixture.path("written"), "base64")) !== CONTENT)
      throw new Error("fs/writeFile wrote other bytes than were sent");
    return values;
  });
}

export default {
  name: "sandbox",
  about:
    "`true` from the request to closed, and a file of 1 KiB written and read, one after another in a sandbox",
  transports: ["stdio"],
  metrics: ["start p50 ms", "write p50 ms", "read p50 ms"].map((name) => ({ name, better: "lower" })),
  setUp: async () => {
    const fixture = await openFilesFixture();
    await fixture.writePattern("small", KIB);
    return fixture;
  },
  warmUp: ({ server, fixture }) => measure(server, fixture, 20),
  firstCalls: ({ server, fixture }) => measure(server, fixture, 10),
  run: ({ server, fixture, quick }) => measure(server, fixture, quick ? 10 : 40),
};
