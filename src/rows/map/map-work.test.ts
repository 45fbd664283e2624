import { expect, it } from "vitest";
import { ExecError } from "../../base/errors.ts";
import type { Host } from "../../client/host/host.ts";
import { MapWork } from "./map-work.ts";
import { RowCommand } from "./row-command.ts";

/** The command that is started for a row which is given as JSON on stdin. */
async function startedOn(supported: readonly string[]): Promise<readonly string[]> {
  let started: readonly string[] = [];
  const host = {
    supports: (name: string) => supported.includes(name),
    start: async (argv: readonly string[]) => {
      started = argv;
      throw new ExecError("OS_ERROR", "enough");
    },
  } as unknown as Host;
  const command = new RowCommand({ argv: ["wc", "{name}"] });
  const [hostName, timeoutMs] = [undefined, undefined];
  const options = { host, hostName, command, start: {}, timeoutMs, result: { kind: "text" } } as const;
  await new MapWork({ ...options, stdin: "json" }).run({
    jobId: "job",
    item: { index: 0, id: "row-1", values: { name: "é" } },
    attempt: 1,
    signal: new AbortController().signal,
    stop: () => {},
    waits: () => {},
    afterRecord: () => {},
  });
  return started;
}

it("ends the input of a command after its row, also on a server that cannot close stdin", async () => {
  expect(await startedOn(["process/closeStdin"])).toEqual(["wc", "é"]);
  const bytes = String(Buffer.byteLength('{"name":"é"}\n'));
  expect(await startedOn([])).toEqual([
    "/bin/sh",
    "-c",
    expect.stringContaining('head -c "$length"'),
    "sh",
    bytes,
    "wc",
    "é",
  ]);
});
