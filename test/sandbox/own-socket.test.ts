import { linkSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { socketUrl } from "../../src/base/socket-url.ts";
import { serve } from "../../src/server/index.ts";

/** Prints the status of the answer to an upgrade on a Unix socket. */
const UPGRADE = `
  const headers = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13", "sec-websocket-key": "MDEyMzQ1Njc4OWFiY2RlZg==" };
  const request = require("node:http").request({ socketPath: process.argv[1], headers });
  const end = ({ statusCode }) => { console.log(statusCode); process.exit(); };
  request.on("upgrade", end).on("response", end).on("error", (error) => { console.log(error.code); process.exit(); });
  request.end();
`;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync("/var/tmp/own-socket-");
  for (const name of ["socket", "work"]) mkdirSync(join(directory, name));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

it("a process in a sandbox cannot connect to its server by another name of its Unix socket", async () => {
  const path = join(directory, "socket", "s");
  const other = join(directory, "work", "other");
  await using server = await serve({
    listen: `unix://${path}`,
    environment: { PATH: process.env["PATH"] },
  });
  linkSync(path, other);
  await using host = await connect(server.url);
  const upgrade = (sandbox?: { write: string[]; network: true }) =>
    host.run([process.execPath, "-e", UPGRADE, other], {
      cwd: directory,
      ...(sandbox === undefined ? {} : { sandbox }),
    });
  const sandbox = { write: [join(directory, "work")], network: true } as const;
  const running = await host.start(["sleep", "60"], { cwd: directory, sandbox: { ...sandbox, write: [] } });
  expect((await upgrade({ ...sandbox, write: [...sandbox.write] })).stdout).toBe("403\n");
  expect((await upgrade()).stdout).toBe("101\n");
  await using outside = await connect(socketUrl(other));
  expect((await outside.run(["echo", "fine"])).stdout).toBe("fine\n");
  await running.kill();
});
