import { expect } from "vitest";
import { collect, read, shell, untilOutput, write } from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { READ_ONLY } from "./sandbox-context.ts";
import { start, verifies } from "./verifies.ts";

const sandbox = READ_ONLY;
const PHRASES = [
  "operation not permitted",
  "permission denied",
  "read-only file system",
  "seccomp",
  "sandbox",
  "landlock",
  "failed to write file",
];

interface Print {
  text: string;
  command: string;
}

/** What a process prints, one after the other, and how it exits then. */
interface Script {
  prints: readonly Print[];
  exit: string;
}

/**
 * Runs a script under each name and returns which of them were denied. A process continues only when its client has its
 * output: the real server waits 20 ms for output after an exit, then judges without the rest.
 */
async function denials(
  peer: RawPeer,
  scripts: Readonly<Record<string, Script>>,
  overrides: object = { sandbox },
): Promise<string[]> {
  const ended = await Promise.all(
    Object.entries(scripts).map(async ([name, { prints, exit }]) => {
      const steps = prints.map(({ command }) => `${command}; read go`);
      const argv = shell([...steps, exit].join("; "));
      await peer.request("process/start", start(name, argv, { pipeStdin: true, ...overrides }));
      for (const { text } of prints) {
        await untilOutput(peer, name, new RegExp(text));
        await write(peer, name, "\n");
      }
      const { sandboxDenied } = await collect(peer, name);
      expect(sandboxDenied).toBeTypeOf("boolean");
      return sandboxDenied ? [name] : [];
    }),
  );
  return ended.flat();
}

/** Prints a text to stdout. */
function out(text: string): Print {
  return { text, command: `printf '${text}'` };
}

/** Prints a text to stderr. */
function err(text: string): Print {
  return { text, command: `printf '${text}' >&2` };
}

function exit(code: number, ...prints: Print[]): Script {
  return { prints, exit: `exit ${code}` };
}

verifies("sandbox.denied:words", async ({ peer }) => {
  const scripts = Object.fromEntries(
    PHRASES.map((phrase, index) => {
      const text = `before ${index % 2 === 0 ? phrase.toUpperCase() : phrase} after`;
      return [phrase, exit(1, index % 3 === 0 ? err(text) : out(text))];
    }),
  );
  expect(await denials(await peer(), scripts)).toEqual(PHRASES);
});

verifies("sandbox.denied:no-words", async ({ peer }) => {
  const scripts = Object.fromEntries(
    [1, 2, 101, 126, 127, 130, 137, 143, 255].map((code) => [`${code}`, exit(code, out("not permitted"))]),
  );
  expect(await denials(await peer(), scripts)).toEqual([]);
});

verifies("sandbox.denied:exit-zero", async ({ peer }) => {
  expect(await denials(await peer(), { p: exit(0, out("permission denied")) })).toEqual([]);
});

verifies("sandbox.denied:system-call", async ({ peer }) => {
  const scripts = { code: exit(159), signal: { prints: [], exit: "ulimit -c 0; kill -SYS $$" } };
  expect(await denials(await peer(), scripts)).toEqual(["code", "signal"]);
});

verifies("sandbox.denied:usage-codes", async ({ peer }) => {
  const scripts = Object.fromEntries(
    [2, 126, 127].map((code) => [`${code}`, exit(code, err("permission denied"))]),
  );
  expect(await denials(await peer(), scripts)).toEqual(["2", "126", "127"]);
});

verifies("sandbox.denied:joined", async ({ peer }) => {
  const scripts = {
    chunks: exit(1, out("permission "), out("denied")),
    streams: exit(1, out("permission "), err("denied")),
    reversed: exit(1, out("denied"), err("permission ")),
  };
  expect(await denials(await peer(), scripts)).toEqual(["chunks", "streams"]);
});

verifies("sandbox.denied:retained", async ({ peer }) => {
  const flood: Print = { text: "flooded", command: "head -c 1200000 /dev/zero; printf flooded" };
  const scripts = {
    evicted: exit(1, out("permission denied"), flood),
    kept: exit(1, flood, out("permission denied")),
  };
  expect(await denials(await peer(), scripts)).toEqual(["kept"]);
});

verifies("sandbox.denied:terminal", async ({ peer }) => {
  const scripts = { p: exit(1, out("permission denied")) };
  expect(await denials(await peer(), scripts, { sandbox, tty: true })).toEqual(["p"]);
});

verifies("sandbox.denied:read", async ({ peer }) => {
  const connection = await peer();
  await denials(connection, { yes: exit(1, out("permission denied")), no: exit(1, out("nothing")) });
  expect((await read(connection, "yes")).sandboxDenied).toBe(true);
  expect((await read(connection, "no")).sandboxDenied).toBe(false);
});

verifies("sandbox.denied:without-sandbox", async ({ peer }) => {
  const scripts = { words: exit(1, out("permission denied")), code: exit(159) };
  expect(await denials(await peer(), scripts, {})).toEqual([]);
});
