import { describe, expect, it } from "vitest";
import { readPages } from "./blocks.ts";
import { type How, PAGES, type Runs } from "./pages.ts";
import { Reader } from "./reader.ts";

const pages = readPages();

it("every block of every page is followed, or says why not", () => {
  const counts = [...pages]
    .filter(([, blocks]) => blocks.length > 0)
    .map(([page, blocks]) => [page, blocks.length]);
  expect(
    Object.fromEntries(Object.entries(PAGES).map(([page, { blocks }]) => [page, blocks.length])),
  ).toEqual(Object.fromEntries(counts));
});

describe.each(Object.entries(PAGES).filter(([, { blocks }]) => !blocks.every((how) => "skip" in how)))(
  "%s",
  (page, { before, blocks }) => {
    it("can be followed literally on a machine that has nothing of ours", async () => {
      await using reader = await Reader.open();
      await before(reader);
      for (const [index, how] of blocks.entries()) await follow(reader, pages.get(page)![index]!, how);
    });
  },
);

async function follow(reader: Reader, script: string, how: How): Promise<void> {
  if ("skip" in how) return;
  await how.before?.(reader);
  if ("lines" in how) await followLines(reader, script.trimEnd().split("\n"), how.lines);
  else if ("stays" in how) await reader.root.start(script, how.stays, reader);
  else await run(reader, script, how);
  await how.after?.(reader);
}

async function followLines(reader: Reader, lines: readonly string[], hows: readonly How[]): Promise<void> {
  expect(lines).toHaveLength(hows.length);
  for (const [index, line] of lines.entries()) await follow(reader, line, hows[index]!);
}

async function run({ root, env }: Reader, script: string, { typed, prints }: Runs): Promise<void> {
  const { status, output } = await root.run(script, { env, ...(typed === undefined ? {} : { typed }) });
  if (status !== 0) throw new Error(`${script}\nended with ${status}:\n${output}`);
  if (prints !== undefined) expect(output, script).toMatch(prints);
}
