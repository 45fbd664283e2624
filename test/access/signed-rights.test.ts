import { createHmac } from "node:crypto";
import { userInfo } from "node:os";
import { expect, it } from "vitest";
import { serve } from "../../src/server/index.ts";
import { withDeadline } from "../fault/deadline.ts";
import { openSocket } from "./raw-client.ts";

const SECRET = Buffer.from("0123456789abcdef0123456789abcdef");

function tokenOf(claims: object, seconds = 600): string {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const exp = Math.floor(Date.now() / 1000) + seconds;
  const signed = `${encode({ alg: "HS256" })}.${encode({ exp, ...claims })}`;
  return `${signed}.${createHmac("sha256", SECRET).update(signed).digest("base64url")}`;
}

const open = () =>
  serve({ authentication: { mode: "signed-bearer-token", secret: SECRET, maxClockSkewSeconds: 0 } });

const READ = ["fs/readFile", { path: "file:///etc/passwd" }] as const;

it("the claim of a signed token gives its rights, and without it the token may do everything", async () => {
  await using server = await open();
  await using observer = await openSocket(
    server.url,
    tokenOf({ sub: "ann", exec_server: { preset: "observe" } }),
  );
  expect((await observer.call(...READ)).error).toMatchObject({ data: { code: "PERMISSION_DENIED" } });
  await using full = await openSocket(server.url, tokenOf({ sub: "ann" }));
  expect((await full.call(...READ)).error).toBeUndefined();
});

it.each([
  { preset: "all" },
  { preset: "observe", rank: 1 },
  { preset: "sandboxed" },
  { preset: "files", roots: ["/nowhere"] },
  { preset: "full", run_as: "no-such-user" },
  { preset: "full", run_as: userInfo().username },
  "observe",
  null,
  [],
])("a token with the rights %j is refused", async (claim) => {
  await using server = await open();
  await expect(openSocket(server.url, tokenOf({ exec_server: claim }))).rejects.toThrow("401");
});

it("the connection of a signed token ends when the token expires", async () => {
  await using server = await open();
  // Its end is a whole second, so it is valid for 5 s at least: enough to connect, whatever the machine does.
  await using client = await openSocket(server.url, tokenOf({}, 6));
  expect(await withDeadline(client.closed, 60_000, () => "the end")).toBe(4011);
});
