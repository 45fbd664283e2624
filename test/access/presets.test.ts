import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { uriFromPath } from "../../src/base/file-uri.ts";
import type { RightsOptions } from "../../src/server/settings/rights-options.ts";
import { serve } from "../../src/server/index.ts";
import { pollUntil } from "../fault/deadline.ts";
import { everyMethod } from "./every-method.ts";
import { openSocket, openStdio, type RawClient } from "./raw-client.ts";

// Every preset and every method, over each way to connect.

let directory: string;
/** What clients work on. */
let work: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "access-"));
  work = join(directory, "work");
  await mkdir(join(work, "doomed"), { recursive: true });
  await writeFile(join(work, "file"), "text", { mode: 0o644 });
  await writeFile(join(work, "old"), "text");
  await symlink("file", join(work, "link"));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

interface Preset {
  readonly letter: string;
  rights(): RightsOptions;
  /** The same in TOML. */
  toml(): string;
}

const PRESETS: Readonly<Record<string, Preset>> = {
  full: { letter: "f", rights: () => ({ preset: "full" }), toml: () => 'preset = "full"' },
  sandboxed: {
    letter: "s",
    rights: () => ({ preset: "sandboxed", policy: { write: [work] } }),
    toml: () => `preset = "sandboxed"\npolicy = { write = [${JSON.stringify(work)}] }`,
  },
  files: {
    letter: "rw",
    rights: () => ({ preset: "files", roots: [work] }),
    toml: () => `preset = "files"\nroots = [${JSON.stringify(work)}]`,
  },
  "read-only files": {
    letter: "r",
    rights: () => ({ preset: "files", roots: [work], readOnly: true }),
    toml: () => `preset = "files"\nroots = [${JSON.stringify(work)}]\nread_only = true`,
  },
  observe: { letter: "o", rights: () => ({ preset: "observe" }), toml: () => 'preset = "observe"' },
};

const TOKEN = "a token of some length";

/** What is made some time after the answer. */
const MADE: Readonly<Record<string, string>> = {
  "process/start": "made-process",
  "command/exec": "made-command",
};

/** Serves a client with a preset, and calls `use` with it. */
type Serve = (preset: Preset, use: (client: RawClient) => Promise<void>) => Promise<void>;

const environment = { PATH: process.env["PATH"] };

const WAYS: Readonly<Record<string, Serve>> = {
  "a WebSocket with a token": async (preset, use) => {
    const path = join(directory, "tokens.toml");
    const sha256 = createHash("sha256").update(TOKEN).digest("hex");
    await writeFile(path, `[[token]]\nname = "ci"\nsha256 = "${sha256}"\n${preset.toml()}\n`);
    await using server = await serve({ environment, authentication: { mode: "token-table", path } });
    await using client = await openSocket(server.url, TOKEN);
    await use(client);
  },
  "a Unix socket": async (preset, use) => {
    const listen = `unix://${join(directory, "socket")}`;
    await using server = await serve({ environment, listen, local: preset.rights() });
    await using client = await openSocket(server.url);
    await use(client);
  },
  stdio: async (preset, use) => {
    const path = join(directory, "config.toml");
    await writeFile(path, `[local]\n${preset.toml()}\n`);
    await using client = await openStdio(["--config", path]);
    await use(client);
  },
};

async function traces(): Promise<string[]> {
  const { mode } = await stat(join(work, "file"));
  return [...(await readdir(work)), (mode & 0o777).toString(8)].toSorted();
}

describe.each(Object.keys(WAYS))("over %s", (way) => {
  it.each(Object.keys(PRESETS))(
    "the preset %s allows what it says, and nothing else has an effect",
    async (name) => {
      const preset = PRESETS[name]!;
      await WAYS[way]!(preset, async (client) => {
        const before = await traces();
        const wrong: string[] = [];
        let changed = before;
        for (const [method, [letters, params]] of Object.entries(everyMethod(uriFromPath(work)))) {
          const isAllowed = preset.letter.split("").some((letter) => letters.includes(letter));
          const { error } = await client.call(method, params);
          const isDenied = error?.data?.code === "PERMISSION_DENIED";
          if (isDenied === isAllowed) wrong.push(`${method}: ${error?.message ?? "done"}`);
          if (isDenied) expect(error).toMatchObject({ code: -32600 });
          const made = MADE[method];
          if (made !== undefined && !isDenied)
            await pollUntil(
              async () => (await traces()).includes(made),
              60_000,
              () => made,
            );
          const now = await traces();
          if (isDenied && JSON.stringify(now) !== JSON.stringify(changed))
            wrong.push(`${method} has an effect`);
          changed = now;
        }
        expect(wrong).toEqual([]);
        const mayChange = preset.letter !== "r" && preset.letter !== "o";
        expect(changed.includes("made-written")).toBe(mayChange);
        expect(changed.includes("made-command")).toBe(preset.letter === "f" || preset.letter === "s");
        if (!mayChange) expect(changed).toEqual(before);
      });
    },
  );
});
