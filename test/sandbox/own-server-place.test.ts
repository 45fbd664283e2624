import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { serve } from "../../src/server/index.ts";

const PLACE = `/tmp/exec-server-${process.geteuid!()}`;

/** Prints a word for every way in which the directory could become the program's own. */
const TAKE = `
  cd /tmp || exit 1
  mkdir "$1" 2>/dev/null && echo made
  ( : > "$1/$2" ) 2>/dev/null && rm "$1/$2" && echo written
  mv "$1" "$1-$2" 2>/dev/null && mv "$1-$2" "$1" && echo moved
  rmdir "$1" 2>/dev/null && mkdir -m 0700 "$1" && echo removed
  ls -A "$1" 2>/dev/null
  ls -d "$1"
`;

it("no sandbox can take the place of the user's own server, whether one runs or not", async () => {
  const directory = mkdtempSync("/var/tmp/own-server-place-");
  try {
    await using server = await serve({
      listen: `unix://${join(directory, "s")}`,
      environment: { PATH: process.env["PATH"] },
    });
    await using host = await connect(server.url);
    const take = async (write: string[]): Promise<string> =>
      (
        await host.run(["/bin/sh", "-c", TAKE, "sh", PLACE, `es-${process.pid}`], {
          cwd: directory,
          sandbox: { write },
        })
      ).stdout;
    expect(await take(["/tmp"])).toBe(`${PLACE}\n`);
    expect(await take(["/tmp", PLACE])).toBe(`${PLACE}\n`);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
