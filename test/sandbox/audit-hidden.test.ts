import { openLink } from "../fixtures/open-link.ts";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { rotatedNumbers } from "../../src/server/audit/rotated-files.ts";
import { createServer } from "../../src/server/serve/server.ts";

const PATIENCE = { timeout: 60_000 };

it("no sandbox shows the audit log, its lock and its full files, also those that became full later", async () => {
  const directory = mkdtempSync("/var/tmp/exec-server-audit-hidden-");
  const file = join(directory, "audit.jsonl");
  const server = createServer({
    environment: process.env,
    sandbox: "read-only",
    audit: { file, maxBytes: 4_096 },
  });
  try {
    const output: string[] = [];
    const closed: unknown[] = [];
    const link = openLink(server, {
      notification: (method, params) => {
        if (method === "process/output")
          output.push(Buffer.from((params as { chunk: string }).chunk, "base64").toString());
        if (method === "process/closed") closed.push(params);
      },
      closed: () => {},
    });
    await link.request("initialize", { clientName: "test" });
    link.notify("initialized", {});
    await vi.waitFor(async () => {
      await link.request("fs/readFile", { path: "file:///etc/hostname" }).catch(() => {});
      expect(rotatedNumbers(file).length).toBeGreaterThan(1);
    }, PATIENCE);
    const names = [file, `${file}.1`, `${file}.2`];
    for (const name of names) expect(readFileSync(name, "utf8")).toContain('"event"');
    await link.request("process/start", {
      processId: "p",
      argv: ["/bin/sh", "-c", `cat ${names.join(" ")} ${file}.lock; echo; echo done`],
      cwd: "file:///",
      env: { PATH: "/usr/bin:/bin" },
      tty: false,
    });
    await vi.waitFor(() => expect(closed).toHaveLength(1), PATIENCE);
    expect(output.join("")).toContain("done");
    expect(output.join("")).not.toContain('"event"');
    for (const name of names) {
      const read = link.request("fs/readFile", { path: `file://${name}` });
      const text = await read.then((answer) => JSON.stringify(answer)).catch(() => "");
      expect(text).not.toContain(Buffer.from('{"n":').toString("base64").slice(0, 6));
    }
  } finally {
    await server.close();
    rmSync(directory, { recursive: true, force: true });
  }
});
