import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readDirectoryDetails } from "./directories.ts";
import type { Place } from "./place.ts";

test("more entries than an answer can hold with details are refused, so that clients list them without", async () => {
  const directory = mkdtempSync(join(tmpdir(), "many-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (let index = 0; index <= 32_000; index++) closeSync(openSync(join(directory, `${index}`), "w"));
  const place = {
    onTarget: (_options: unknown, use: (path: string) => Promise<unknown>) => use(directory),
  } as unknown as Place;
  await expect(readDirectoryDetails(place)).rejects.toMatchObject({ code: "UNSUPPORTED" });
  rmSync(join(directory, "0"));
  await expect(readDirectoryDetails(place)).resolves.toHaveLength(32_000);
}, 60_000);
