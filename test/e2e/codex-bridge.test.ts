import { createHash } from "node:crypto";
import { access, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { pollUntil } from "../fault/deadline.ts";
import { isAlive } from "../fault/proc-fs.ts";
import { runSeed, SeededRandom } from "../fault/seeded-random.ts";
import { body, lines } from "./codex-output.ts";
import { toml } from "./codex-run.ts";
import { call, type Step } from "./mock-model.ts";
import { serverKind, Workspace } from "./workspace.ts";

const DEADLINE_MS = 60_000;
const PATIENT = { yield_time_ms: 30_000 };
const BRIEF = { yield_time_ms: 250 };
const TOKEN = "open-sesame-0123456789";
const SERVER_ARGS = [
  "--ws-auth",
  "capability-token",
  "--ws-token-sha256",
  createHash("sha256").update(TOKEN).digest("hex"),
];
const CLI = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

/** The client's environments file: the only environment is the bridge, which leads to the proxy. */
const bridged = ({ proxy }: Workspace, token = TOKEN): { toml: string } => ({
  toml: `default = "there"
include_local = false
[[environments]]
id = "there"
program = ${toml(process.execPath)}
args = ${toml([CLI, "bridge", "--stdio", "--url", proxy.url])}
env = { EXEC_SERVER_TOKEN = ${toml(token)} }
`,
});

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Types into the session that the first step has left running, once it has made the file `ready`. */
const type =
  (workspace: Workspace, chars: string, wait: object): Step =>
  async (outputs) => {
    await pollUntil(
      () => exists(workspace.path("ready")),
      DEADLINE_MS,
      () => "the terminal without echo",
    );
    const id = /Process running with session ID (\d+)/.exec(outputs[0]?.text ?? "")?.[1];
    if (id === undefined) throw new Error(`no running session in: ${outputs[0]?.text}`);
    return call("write_stdin", { session_id: Number(id), chars, ...wait });
  };

const PATCH = [
  "*** Begin Patch",
  "*** Add File: new/deep/added.txt",
  "+grüße",
  "*** Update File: edit.txt",
  "@@",
  " one",
  "-two",
  "+TWO",
  "*** Update File: old-name.txt",
  "*** Move to: moved/new-name.txt",
  "@@",
  "-beta",
  "+BETA",
  "*** Delete File: gone.txt",
  "*** End Patch",
].join("\n");

async function writePatched(workspace: Workspace): Promise<void> {
  await workspace.write("edit.txt", "one\ntwo\n");
  await workspace.write("old-name.txt", "alpha\nbeta\n");
  await workspace.write("gone.txt", "bye\n");
}

async function expectPatched(workspace: Workspace): Promise<void> {
  expect(await workspace.read("new/deep/added.txt")).toBe("grüße\n");
  expect(await workspace.read("edit.txt")).toBe("one\nTWO\n");
  expect(await workspace.read("moved/new-name.txt")).toBe("alpha\nBETA\n");
  expect(await exists(workspace.path("old-name.txt"))).toBe(false);
  expect(await exists(workspace.path("gone.txt"))).toBe(false);
}

/** Cuts the connection again and again until the work is done. */
async function cutDuring<T>({ proxy }: Workspace, work: Promise<T>): Promise<T> {
  const random = new SeededRandom(runSeed);
  let timer: NodeJS.Timeout | undefined;
  const cutLater = (): void => {
    timer = setTimeout(
      () => {
        proxy.cut();
        cutLater();
      },
      random.between(20, 400),
    );
  };
  cutLater();
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

describe(`codex exec through a bridge to ${serverKind === "codex" ? "its own" : "this"} server`, () => {
  it("works on a server elsewhere, with a token", async () => {
    await using workspace = await Workspace.open(SERVER_ARGS);
    await workspace.write("AGENTS.md", "Mind the tides.\n");
    await writePatched(workspace);
    const { outputs, model } = await workspace.run(
      [
        call("exec_command", { cmd: 'echo "$E2E_MARKER"; exit 9', ...PATIENT }),
        call("exec_command", { cmd: `apply_patch <<'PATCH'\n${PATCH}\nPATCH` }),
      ],
      { environment: bridged(workspace) },
    );
    expect(model.context.join("\n")).toContain("Mind the tides.");
    expect(outputs[0]).toContain("Process exited with code 9\n");
    expect(body(outputs[0] ?? "")).toBe(`${workspace.serverMarker}\n`);
    await expectPatched(workspace);
    expect(workspace.proxy.upgrades).toHaveLength(1);
  });

  it("has no environment with a wrong token", async () => {
    await using workspace = await Workspace.open(SERVER_ARGS);
    const { outputs } = await workspace.run([call("exec_command", { cmd: "true", ...PATIENT })], {
      environment: bridged(workspace, "wrong"),
    });
    expect(outputs[0]).toContain("No usable execution environment is available");
  });

  it("loses nothing of a command whose connection is cut again and again", async () => {
    await using workspace = await Workspace.open(SERVER_ARGS);
    const { proxy } = workspace;
    const cmd = 'for i in $(seq 1 300); do echo "line $i"; sleep 0.01; done; exit 7';
    const { outputs } = await cutDuring(
      workspace,
      workspace.run([call("exec_command", { cmd, ...PATIENT })], { environment: bridged(workspace) }),
    );
    expect(outputs[0]).toContain("Process exited with code 7\n");
    expect(body(outputs[0] ?? "")).toBe(lines(1, 300));
    expect(proxy.upgrades.length).toBeGreaterThan(3);
    expectOneSession(workspace);
  });

  it("types into a terminal whose connection is cut again and again", async () => {
    await using workspace = await Workspace.open(SERVER_ARGS);
    const cmd =
      'stty -echo; touch ready; echo ready; for n in 1 2 3 4 5 6; do read -r word; echo "got $word"; done; exit 5';
    const words = ["ahoy", "mast", "keel", "sail", "buoy"];
    const { outputs } = await cutDuring(
      workspace,
      workspace.run(
        [
          call("exec_command", { cmd, tty: true, ...BRIEF }),
          ...words.map((word) => type(workspace, `${word}\n`, BRIEF)),
          type(workspace, "helm\n", PATIENT),
        ],
        { environment: bridged(workspace) },
      ),
    );
    expect(outputs.at(-1)).toContain("Process exited with code 5\n");
    expect(outputs.map(body).join("")).toBe(
      `ready\r\n${[...words, "helm"].map((word) => `got ${word}\r\n`).join("")}`,
    );
    expectOneSession(workspace);
  });

  it("starts commands and patches files while the connection is cut again and again", async () => {
    await using workspace = await Workspace.open(SERVER_ARGS);
    await writePatched(workspace);
    const runs = Array.from({ length: 8 }, (_, i) => `run ${i}`);
    const { outputs } = await cutDuring(
      workspace,
      workspace.run(
        [
          ...runs.map((word) => call("exec_command", { cmd: `echo ${word} | tee -a log`, ...PATIENT })),
          call("exec_command", { cmd: `apply_patch <<'PATCH'\n${PATCH}\nPATCH` }),
        ],
        { environment: bridged(workspace) },
      ),
    );
    expect(outputs.slice(0, -1).map(body)).toEqual(runs.map((word) => `${word}\n`));
    // Each ran once, although starts were repeated.
    expect(await workspace.read("log")).toBe(runs.map((word) => `${word}\n`).join(""));
    expect(outputs.at(-1)).toContain("Exit code: 0\n");
    await expectPatched(workspace);
    expectOneSession(workspace);
  });

  it("ends what runs when the client leaves", async () => {
    await using workspace = await Workspace.open(SERVER_ARGS);
    await workspace.run(
      [
        call("exec_command", { cmd: "echo $$ > pid; exec sleep 1000", ...BRIEF }),
        async () => {
          await pollUntil(
            () => exists(workspace.path("pid")),
            DEADLINE_MS,
            () => "the start of the command",
          );
          return call("exec_command", { cmd: "true", ...PATIENT });
        },
      ],
      { environment: bridged(workspace) },
    );
    const pid = Number(await readFile(workspace.path("pid"), "utf8"));
    await pollUntil(
      () => !isAlive(pid),
      DEADLINE_MS,
      () => `the end of process ${pid}`,
    );
  });
});

/** All connections carried the same session. */
function expectOneSession({ proxy }: Workspace): void {
  const sessions = proxy.exchanges("initialize").map(([, result]) => result["sessionId"]);
  expect(sessions.length).toBeGreaterThan(1);
  // A cut before the first answer reached the client leaves an unused session.
  expect(new Set(sessions.slice(-2)).size).toBe(1);
}
