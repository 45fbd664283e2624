import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";
import { freeAccess } from "../files/file-access.ts";
import { Location } from "../files/location.ts";
import { toNativePath } from "../files/native-path.ts";
import { bindUnixSocket } from "./unix-socket.ts";

/** A directory of another user, who can rename everything in it, and one that this user only can change. */
function directories() {
  const top = mkdtempSync(join(tmpdir(), "unix-socket-"));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  const theirs = join(top, "theirs");
  const ours = join(top, "ours");
  mkdirSync(theirs);
  mkdirSync(ours);
  return { theirs, ours };
}

function listeningServer(): Server {
  const server = createServer();
  onTestFinished(() => void server.close());
  return server;
}

const locationOf = (path: string): Location => new Location(toNativePath(path), freeAccess);

test("what the owner of the directory puts in place of the private one is neither changed nor removed", async ({
  expect,
}) => {
  const { theirs, ours } = directories();
  // Names that the socket may have.
  const server = listeningServer();
  const listen = server.listen.bind(server);
  server.listen = ((options: { path: string }) => {
    listen(options);
    const [name = ""] = readdirSync(theirs);
    for (const each of ["s", name]) writeFileSync(join(ours, each), "ours", { mode: 0o644 });
    renameSync(join(theirs, name), join(theirs, "moved"));
    symlinkSync(ours, join(theirs, name));
    return server;
  }) as Server["listen"];
  const remove = await bindUnixSocket(server, locationOf(join(theirs, "socket")), () => {});
  const kept = readdirSync(ours);
  expect(kept).toHaveLength(2);
  for (const name of kept) expect(statSync(join(ours, name)).mode & 0o777).toBe(0o644);
  expect(statSync(join(theirs, "socket"))).toSatisfy(
    (stats) => stats.isSocket() && (stats.mode & 0o777) === 0o600,
  );
  remove();
});

test("a socket leaves nothing but itself, and removes only itself", async ({ expect }) => {
  const { theirs } = directories();
  const server = listeningServer();
  const remove = await bindUnixSocket(server, locationOf(join(theirs, "socket")), () => {});
  expect(readdirSync(theirs)).toEqual(["socket"]);
  renameSync(join(theirs, "socket"), join(theirs, "elsewhere"));
  writeFileSync(join(theirs, "socket"), "another file");
  remove();
  expect(readdirSync(theirs)).toEqual(["elsewhere", "socket"]);
});
