import { access, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ServerKind } from "../conformance/server-process.ts";
import { pollUntil } from "../fault/deadline.ts";
import { readable } from "../relay/captured.ts";
import { RelayProgram } from "../relay/relay-program.ts";
import { body, lines, sessionIn } from "./codex-output.ts";
import { type CodexOptions, runCodex, toml } from "./codex-run.ts";
import { McpHttp } from "./mcp-http.ts";
import { call, MockModel, type Step, type ToolOutput } from "./mock-model.ts";
import { ONE_PIXEL_PNG } from "./one-pixel.ts";

const PATIENT = { yield_time_ms: 30_000 };
const BRIEF = { yield_time_ms: 250 };
const MARKER = "printed-on-the-executor";

let relay: RelayProgram;
let root: string;
let workspace: string;

beforeEach(async () => {
  relay = await RelayProgram.start({ captures: true });
  // Not under the system's temporary directory: the client behaves differently when its home is there.
  root = await mkdtemp("/var/tmp/exec-server-relay-");
  workspace = join(root, "work-of-the-crew");
  await mkdir(workspace);
});

afterEach(async () => {
  await relay[Symbol.asyncDispose]();
  await rm(root, { recursive: true, force: true });
});

const startExecutor = (kind: ServerKind): Promise<unknown> =>
  relay.executor(kind, "there", { env: { E2E_MARKER: MARKER } });

/** Lets the real client play some steps on the executor. */
async function play(steps: readonly Step[], options: Partial<CodexOptions> = {}): Promise<MockModel> {
  await using model = await MockModel.start(steps);
  const home = join(root, "client");
  await mkdir(home);
  const exit = await runCodex({
    home,
    workspace,
    modelOrigin: model.origin,
    environment: { variables: relay.clientVariables("there") },
    ...options,
  });
  model.assertPlayed();
  expect(exit.code, exit.stderr).toBe(0);
  return model;
}

const textsOf = ({ outputs }: MockModel): string[] => outputs.map(({ text }) => text);
const isThere = (name: string): Promise<boolean> =>
  access(join(workspace, name)).then(
    () => true,
    () => false,
  );
const put = (name: string, content: string | Buffer): Promise<void> =>
  writeFile(join(workspace, name), content);
const read = (name: string): Promise<string> => readFile(join(workspace, name), "utf8");

/** Types into the command that was left running `stepsAgo`, once it has made a file. */
const type = (file: string, stepsAgo: number, chars: string, wait: object): Step => {
  return async (outputs) => {
    await pollUntil(
      () => isThere(file),
      60_000,
      () => file,
    );
    return call("write_stdin", { session_id: sessionIn(outputs.at(-stepsAgo)?.text), chars, ...wait });
  };
};

describe.each<ServerKind>(["ours", "codex"])(
  "codex exec through a relay, on an executor of kind %s",
  (kind) => {
    it("does all of its work, and the relay can read none of it", async () => {
      await startExecutor(kind);
      await using mcp = await McpHttp.start();
      await put("AGENTS.md", "Answer in rhymes about harbours.\n");
      await mkdir(join(workspace, ".agents/skills/demo"), { recursive: true });
      await put(
        ".agents/skills/demo/SKILL.md",
        "---\nname: demo\ndescription: Folds paper boats of any size\n---\nFold along the line.\n",
      );
      await put("edit.txt", "one\ntwo\n");
      await put("old-name.txt", "alpha\nbeta\n");
      await put("gone.txt", "bye\n");
      await put("dot.png", Buffer.from(ONE_PIXEL_PNG, "base64"));
      const patch = `*** Begin Patch
*** Add File: new/deep/added.txt
+grüße
*** Update File: edit.txt
@@
 one
-two
+TWO
*** Update File: old-name.txt
*** Move to: new-name.txt
@@
 alpha
-beta
+BETA
*** Delete File: gone.txt
*** End Patch`;
      const typed =
        'stty size; touch asked; read -r name; echo "hello $name"; trap "echo interrupted; exit 42" INT; bash -c ": > typed; exec sleep 1000"';
      const trapped =
        'trap "echo interrupted; exit 43" INT; echo waiting; bash -c ": > trapped; exec sleep 1000"';
      const model = await play(
        [
          call("exec_command", { cmd: 'echo "$E2E_MARKER"; echo "größer" >&2; exit 9', ...PATIENT }),
          call("exec_command", { cmd: `apply_patch <<'PATCH'\n${patch}\nPATCH` }),
          call("exec_command", { cmd: typed, tty: true, ...BRIEF }),
          // The terminal would show it above its size.
          type("asked", 1, "Ada\n", BRIEF),
          type("typed", 2, "\u0003", PATIENT),
          call("exec_command", { cmd: trapped, ...BRIEF }),
          type("trapped", 1, "\u0003", PATIENT),
          call("view_image", { path: "dot.png" }),
          call("echo", { text: "ahoy" }, "mcp__echoing"),
          call("shout", { text: "land ahoy" }, "mcp__shouting"),
          call("exec_command", { cmd: "seq -f 'line %g' 1 900", ...PATIENT }),
        ],
        {
          config: `[mcp_servers.echoing]
          command = ${toml(process.execPath)}
          args = ${toml([fileURLToPath(new URL("mcp-echo.mjs", import.meta.url))])}
          cwd = ${toml(workspace)}
          environment_id = "remote"
          startup_timeout_sec = 60
          required = true
          [mcp_servers.shouting]
          url = ${toml(mcp.url)}
          environment_id = "remote"
          startup_timeout_sec = 60
          required = true`,
        },
      );
      const context = model.context.join("\n");
      expect(context).toContain("Answer in rhymes about harbours.");
      expect(context).toContain("demo: Folds paper boats of any size");
      const [first = "", patched, ...rest] = textsOf(model);
      expect(first).toContain("Process exited with code 9\n");
      expect(body(first).split("\n").toSorted()).toEqual(["", "größer", MARKER].toSorted());
      expect(patched).toContain("Exit code: 0\n");
      expect(await read("new/deep/added.txt")).toBe("grüße\n");
      expect(await read("edit.txt")).toBe("one\nTWO\n");
      expect(await read("new-name.txt")).toBe("alpha\nBETA\n");
      expect(await Promise.all(["old-name.txt", "gone.txt"].map(isThere))).toEqual([false, false]);
      const [, , terminal = ""] = rest;
      expect(rest.slice(0, 3).map(body).join("")).toBe("24 80\r\nAda\r\nhello Ada\r\n^Cinterrupted\r\n");
      expect(terminal).toContain("Process exited with code 42\n");
      expect(rest.slice(3, 5).map(body).join("")).toBe("waiting\ninterrupted\n");
      expect(rest[4]).toContain("Process exited with code 43\n");
      const { imageUrls } = model.outputs[7] as ToolOutput;
      expect(imageUrls).toEqual([`data:image/png;base64,${ONE_PIXEL_PNG}`]);
      expect(rest[6]).toContain(`ahoy from ${workspace}`);
      expect(rest[7]).toContain("LAND AHOY");
      expect(body(rest[8] ?? "")).toBe(lines(1, 900));
      const secrets = [
        MARKER,
        "work-of-the-crew",
        "Folds paper boats",
        "new/deep/added",
        "hello Ada",
        "ahoy from",
        "line 899",
      ];
      expect(readable(relay.proxy.passages, secrets)).toEqual([]);
      expect(readable(relay.proxy.passages, ["harness_key_authorization"])).toHaveLength(1);
    });
  },
);
