import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connect, type Host } from "../../src/client/index.ts";
import { launch, type ServerKind } from "../conformance/server-process.ts";
import { frameKinds, readable } from "./captured.ts";
import { LegProxy } from "./leg-proxy.ts";
import { RelayProgram } from "./relay-program.ts";

const SECRETS = {
  path: "swordfish-in-the-harbour",
  command: "lantern-of-the-pilot",
  variable: "VARIABLE_OF_THE_TIDE",
  input: "whispers-into-a-pipe",
  contents: "logbook-of-the-captain",
  output: "gulls-cry-at-dawn",
};

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), `relay-${SECRETS.path}-`));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

/** A bit of everything; the output is written so that the command does not contain it. */
async function work(host: Host): Promise<void> {
  const reversed = SECRETS.output.split("").toReversed().join("");
  // `rev` writes the last letter by itself; the shell writes all of them at once.
  const script = `: ${SECRETS.command}; cat; echo "$(echo ${reversed} | rev)"`;
  const { stdout } = await host.run(["sh", "-c", script], {
    env: { [SECRETS.variable]: "1" },
    input: SECRETS.input,
    cwd: directory,
  });
  expect(stdout).toBe(`${SECRETS.input}${SECRETS.output}\n`);
  const file = join(directory, "file");
  await writeFile(file, `${"x".repeat(20_000)}${SECRETS.contents}`);
  expect(await host.files.readText(file)).toContain(SECRETS.contents);
  await host.files.write(`${file}.copy`, SECRETS.contents);
  expect((await host.files.list(directory)).map(({ name }) => name).toSorted()).toEqual([
    "file",
    "file.copy",
  ]);
}

describe.each<ServerKind>(["ours", "codex"])(
  "what passes a relay on its way to an executor of kind %s",
  (kind) => {
    it("has no command, path, variable, input, contents or output", async () => {
      await using relay = await RelayProgram.start({ captures: true });
      await relay.executor(kind, "there");
      await using host = await relay.connect("there");
      await work(host);
      const { passages } = relay.proxy;
      for (const leg of ["client", "executor"] as const)
        for (const side of ["toRelay", "fromRelay"] as const) {
          const kinds = frameKinds(passages, leg, side);
          expect(kinds).toContain("handshake");
          expect(kinds).toContain("data");
          expect(kinds).not.toContain("rubbish");
        }
      expect(readable(passages, Object.values(SECRETS))).toEqual([]);
      // What the relay does know is found.
      expect(readable(passages, ["/cloud/environment/there/validate", "noise_hybrid_ik_v1"])).toHaveLength(2);
    });
  },
);

it("all of it can be read on the way to a server without a relay", async () => {
  const server = await launch("ours", ["--listen", "ws://127.0.0.1:0"]);
  try {
    await using proxy = await LegProxy.open(Number(new URL(await server.banner()).port), { captures: true });
    await using host = await connect(proxy.base.replace("http", "ws"));
    await work(host);
    expect(readable(proxy.passages, Object.values(SECRETS))).toEqual(Object.values(SECRETS));
  } finally {
    await server.stop();
  }
});
