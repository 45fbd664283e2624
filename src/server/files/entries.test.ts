import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { uriFromPath } from "../../base/file-uri.ts";
import { FULL_RIGHTS } from "../access/rights.ts";
import { entryHandlers } from "./entries.ts";
import type { FileClient } from "./file-client.ts";
import { Locations } from "./locations.ts";

it("what a request still does ends with its connection", async () => {
  const directory = temporaryDirectory();
  mkdirSync(join(directory, "tree/inner"), { recursive: true });
  const uri = (name: string): string => uriFromPath(join(directory, name));
  const client = { signal: AbortSignal.abort(), rights: FULL_RIGHTS } as FileClient;
  const handlers = entryHandlers(Locations.inside(undefined));
  await expect(
    handlers["fs/copy"](client, {
      sourcePath: uri("tree"),
      destinationPath: uri("copy"),
      recursive: true,
    }),
  ).rejects.toThrow("the client is gone");
  await expect(handlers["fs/remove"](client, { path: uri("tree") })).rejects.toThrow("the client is gone");
  expect(existsSync(join(directory, "tree/inner"))).toBe(true);
});
