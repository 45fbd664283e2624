import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { collect } from "../conformance/process-events.ts";
import { limitedServer, start } from "./limited-server.ts";

const BUSY_MS = 100;
const DEADLINE_MS = 60_000;

it("output that was there in time comes before the exit, also when the server was busy meanwhile", async () => {
  const directory = mkdtempSync(join(tmpdir(), "late-timer-"));
  const written = join(directory, "written");
  await using server = limitedServer({});
  const peer = await server.session();
  // Long enough for pipes to be watched; the output comes after the end, from a program that stays a little longer.
  const script = `sleep 0.2; (sleep 0.01; echo late; : > ${written}; sleep 0.2) & exit 3`;
  await peer.request("process/start", start("p", script));
  // After the server has seen the end, so that its timers are due before it reads again.
  const stayBusy = (): void => {
    const begun = performance.now();
    while (performance.now() - begun < BUSY_MS || !existsSync(written))
      if (performance.now() - begun > DEADLINE_MS) return;
  };
  process.once("SIGCHLD", stayBusy);
  try {
    const { events } = await collect(peer, "p", DEADLINE_MS);
    expect(events.map(({ kind }) => kind)).toEqual(["output", "exited", "closed"]);
  } finally {
    process.off("SIGCHLD", stayBusy);
    rmSync(directory, { recursive: true, force: true });
  }
});
