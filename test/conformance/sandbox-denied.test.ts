import { expect } from "vitest";
import { read, run, shell } from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { READ_ONLY } from "./sandbox-context.ts";
import { verifies } from "./verifies.ts";

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

/** Runs a script under each name and returns which of them were denied. */
async function denials(
  peer: RawPeer,
  scripts: Readonly<Record<string, string>>,
  overrides: object = { sandbox },
): Promise<string[]> {
  const ended = await Promise.all(
    Object.entries(scripts).map(async ([name, script]) => {
      const { sandboxDenied } = await run(peer, name, shell(script), { ...overrides });
      expect(sandboxDenied).toBeTypeOf("boolean");
      return sandboxDenied ? [name] : [];
    }),
  );
  return ended.flat();
}

verifies("sandbox.denied:words", async ({ peer }) => {
  const scripts = Object.fromEntries(
    PHRASES.map((phrase, index) => {
      const text = index % 2 === 0 ? phrase.toUpperCase() : phrase;
      return [phrase, `echo 'before ${text} after' ${index % 3 === 0 ? ">&2" : ""}; exit 1`];
    }),
  );
  expect(await denials(await peer(), scripts)).toEqual(PHRASES);
});

verifies("sandbox.denied:no-words", async ({ peer }) => {
  const scripts = Object.fromEntries(
    [1, 2, 101, 126, 127, 130, 137, 143, 255].map((code) => [`${code}`, `echo not permitted; exit ${code}`]),
  );
  expect(await denials(await peer(), scripts)).toEqual([]);
});

verifies("sandbox.denied:exit-zero", async ({ peer }) => {
  expect(await denials(await peer(), { p: "echo permission denied; exit 0" })).toEqual([]);
});

verifies("sandbox.denied:system-call", async ({ peer }) => {
  const scripts = { code: "exit 159", signal: "ulimit -c 0; kill -SYS $$" };
  expect(await denials(await peer(), scripts)).toEqual(["code", "signal"]);
});

verifies("sandbox.denied:usage-codes", async ({ peer }) => {
  const scripts = Object.fromEntries(
    [2, 126, 127].map((code) => [`${code}`, `echo permission denied >&2; exit ${code}`]),
  );
  expect(await denials(await peer(), scripts)).toEqual(["2", "126", "127"]);
});

verifies("sandbox.denied:joined", async ({ peer }) => {
  const scripts = {
    chunks: "printf 'permission '; sleep 0.2; printf denied; exit 1",
    streams: "printf 'permission '; sleep 0.2; printf denied >&2; exit 1",
    reversed: "printf denied; sleep 0.2; printf 'permission ' >&2; exit 1",
  };
  expect(await denials(await peer(), scripts)).toEqual(["chunks", "streams"]);
});

verifies("sandbox.denied:retained", async ({ peer }) => {
  const flood = "head -c 1200000 /dev/zero";
  const scripts = {
    evicted: `echo permission denied; ${flood}; exit 1`,
    kept: `${flood}; echo permission denied; exit 1`,
  };
  expect(await denials(await peer(), scripts)).toEqual(["kept"]);
});

verifies("sandbox.denied:terminal", async ({ peer }) => {
  const scripts = { p: "echo permission denied; exit 1" };
  expect(await denials(await peer(), scripts, { sandbox, tty: true })).toEqual(["p"]);
});

verifies("sandbox.denied:read", async ({ peer }) => {
  const connection = await peer();
  await denials(connection, { yes: "echo permission denied; exit 1", no: "echo nothing; exit 1" });
  expect((await read(connection, "yes")).sandboxDenied).toBe(true);
  expect((await read(connection, "no")).sandboxDenied).toBe(false);
});

verifies("sandbox.denied:without-sandbox", async ({ peer }) => {
  const scripts = { words: "echo permission denied; exit 1", code: "exit 159" };
  expect(await denials(await peer(), scripts, {})).toEqual([]);
});
