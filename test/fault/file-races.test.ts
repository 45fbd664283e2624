import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pollUntil, spin } from "./deadline.ts";
import { failureOf, readFile, uriOf, writeFile } from "./file-requests.ts";
import { exchangeNames } from "./name-exchange.ts";
import { openDescriptors } from "./proc-fs.ts";
import { faultRounds, runSeed, SeededRandom } from "./seeded-random.ts";
import { type ServerUnderTest, startServer } from "./server-under-test.ts";
import { openSession, RpcFailure, type SessionClient } from "./session-client.ts";
import { takeSnapshot } from "./tree-snapshot.ts";

const MIB = 1024 * 1024;
const RACES = 2_000;
const REQUESTS_IN_FLIGHT = 16;
const REMOVALS = 300;
const READS = 18;
const READ_FILE_BYTES = 16 * MIB;
const MAX_HANDLES = 128;
const HANDLE_ROUNDS = 4;
const MAX_HANDLE_ROUNDS = 100;
const BUSY_COPIES = 16;
const BUSY_COPY_BYTES = 64 * MIB;
const SETTLE_DEADLINE_MS = 60_000;
const LONG_FORM_MS = 20 * 60_000;

describe("a race for a file", () => {
  let base: string;
  let server: ServerUnderTest;
  let client: SessionClient;
  let descriptorsBefore: number;

  beforeAll(async () => {
    base = mkdtempSync("/var/tmp/exec-server-races-");
    server = await startServer();
    client = await openSession(server.url);
    // What a server opens once and keeps.
    await writeFile(client, `${base}/first`, "first");
    await readFile(client, "/usr/bin/env");
    descriptorsBefore = openDescriptors(server.pid).length;
  });

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    rmSync(base, { recursive: true, force: true });
  });

  const expectNoDescriptorLeft = (): Promise<true> =>
    pollUntil(
      () => openDescriptors(server.pid).length === descriptorsBefore,
      SETTLE_DEADLINE_MS,
      () => `${descriptorsBefore} descriptors instead of ${openDescriptors(server.pid).join(", ")}`,
    );

  /** Resolves when the server has opened the file, or has read it already. */
  async function isBeingRead(path: string, reading: Promise<unknown>): Promise<void> {
    let isOver = false;
    const end = (): void => void (isOver = true);
    reading.then(end, end);
    await pollUntil(
      () => isOver || openDescriptors(server.pid).includes(path),
      SETTLE_DEADLINE_MS,
      () => `${path} to be opened`,
    );
  }

  /** `way` is exchanged with `other`, a link to `secret`. */
  function makeFork(name: string): { way: string; other: string; secret: string } {
    const place = `${base}/${name}`;
    const fork = { way: `${place}/way`, other: `${place}/other`, secret: `${base}/${name}-secret` };
    mkdirSync(fork.way, { recursive: true });
    mkdirSync(fork.secret);
    writeFileSync(`${fork.way}/file`, "public");
    for (const file of ["file", "target"]) writeFileSync(`${fork.secret}/${file}`, "the secret");
    symlinkSync(fork.secret, fork.other);
    return fork;
  }

  it(
    "is never won by a link in the place of a directory, where no link may be on the way",
    async () => {
      const { way, other, secret } = makeFork("fork");
      const before = takeSnapshot(secret);
      const seen: Record<string, { done: number; refused: number }> = {};
      const attempt = async (name: string, work: Promise<unknown>): Promise<void> => {
        const counts = (seen[name] ??= { done: 0, refused: 0 });
        try {
          expect(JSON.stringify((await work) ?? "")).not.toMatch(/secret|"size":10/);
          counts.done += 1;
        } catch (error) {
          if (!(error instanceof RpcFailure)) throw error;
          counts.refused += 1;
        }
      };
      const followSymlinks = false;
      const request = (method: string, path: string, more: object = {}) =>
        client.request(method, { path: uriOf(path), followSymlinks, ...more });
      const race = async (i: number): Promise<void> => {
        const reading = readFile(client, `${way}/file`, { followSymlinks });
        await attempt(
          "read",
          reading.then((bytes) => bytes.toString()),
        );
        await attempt("look", request("fs/getMetadata", `${way}/file`));
        await attempt("write", writeFile(client, `${way}/target`, `written ${i}`, { followSymlinks }));
        await attempt("make", request("fs/createDirectory", `${way}/made-${i}`, { recursive: i % 2 === 0 }));
        await attempt("remove", request("fs/remove", `${way}/target`, { recursive: false, force: false }));
      };
      {
        await using _ = await exchangeNames(way, other);
        for (let i = 0; i < RACES * faultRounds; i += REQUESTS_IN_FLIGHT)
          await Promise.all(Array.from({ length: REQUESTS_IN_FLIGHT }, (__, lane) => race(i + lane)));
      }
      expect([...takeSnapshot(secret)]).toEqual([...before]);
      for (const [name, { done, refused }] of Object.entries(seen)) {
        expect(done, `${name} done`).toBeGreaterThan(10);
        expect(refused, `${name} refused`).toBeGreaterThan(10);
      }
      await expectNoDescriptorLeft();
    },
    LONG_FORM_MS,
  );

  it(
    "is never won by a link that appears in a tree while it is removed",
    async () => {
      const { way, other, secret } = makeFork("removed");
      const before = takeSnapshot(secret);
      const counts = { removed: 0, refused: 0 };
      await using _ = await exchangeNames(way, other);
      for (let i = 0; i < REMOVALS * faultRounds; i += 1) {
        // Moved away first: removing it here would lose the race as well.
        if (existsSync(`${base}/removed`)) {
          renameSync(`${base}/removed`, `${base}/rest`);
          rmSync(`${base}/rest`, { recursive: true });
        }
        mkdirSync(way, { recursive: true });
        for (const name of ["a", "file", "target"]) writeFileSync(`${way}/${name}`, "");
        symlinkSync(secret, other);
        try {
          await client.request("fs/remove", { path: uriOf(`${base}/removed`) });
          counts.removed += 1;
        } catch (error) {
          // What was a directory when checked is a link when removed, or the other way round.
          if (!(error instanceof RpcFailure)) throw error;
          counts.refused += 1;
        }
        expect([...takeSnapshot(secret)]).toEqual([...before]);
      }
      expect(counts.removed).toBeGreaterThan(0);
      await expectNoDescriptorLeft();
    },
    LONG_FORM_MS,
  );

  it(
    "leaves the reader a beginning of a file that shrinks, the whole of one that vanishes, and at least the old part of one that grows",
    async () => {
      const random = new SeededRandom(runSeed);
      const path = `${base}/changing`;
      const whole = randomContents(random, READ_FILE_BYTES);
      const end = randomContents(random, MIB);
      const rest = READ_FILE_BYTES / 4;
      const lengths = new Set<number>();
      for (let i = 0; i < READS * faultRounds; i += 1) {
        writeFileSync(path, whole);
        const reading = readFile(client, path);
        // One that vanishes before it is opened cannot be read.
        if (i % 3 === 1) await isBeingRead(path, reading);
        spin(random.between(0, 30));
        if (i % 3 === 0) truncateSync(path, rest);
        else if (i % 3 === 1) unlinkSync(path);
        else appendFileSync(path, end);
        const bytes = await reading;
        const all = Buffer.concat([whole, end]);
        expect(bytes.equals(all.subarray(0, bytes.length)), `seed ${runSeed}, read ${i}`).toBe(true);
        expect(bytes.length).toBeGreaterThanOrEqual(i % 3 === 0 ? rest : whole.length);
        expect(bytes.length).toBeLessThanOrEqual(i % 3 === 2 ? all.length : whole.length);
        lengths.add(bytes.length);
        rmSync(path, { force: true });
      }
      expect(lengths.size).toBeGreaterThan(1);
      await expectNoDescriptorLeft();
    },
    LONG_FORM_MS,
  );

  it("is seen by a handle: less of a file that shrank, all of one that vanished", async () => {
    const path = `${base}/handled`;
    writeFileSync(path, "0123456789");
    await client.request("fs/open", { handleId: "h", path: uriOf(path) });
    const read = async () => {
      const { chunk, eof } = await client.request<{ chunk: string; eof: boolean }>("fs/readBlock", {
        handleId: "h",
        offset: 2,
        len: 8,
      });
      return [Buffer.from(chunk, "base64").toString(), eof];
    };
    expect(await read()).toEqual(["23456789", false]);
    truncateSync(path, 5);
    expect(await read()).toEqual(["234", true]);
    truncateSync(path, 0);
    expect(await read()).toEqual(["", true]);
    writeFileSync(path, "abcdefghij");
    unlinkSync(path);
    expect(await read()).toEqual(["cdefghij", false]);
    await client.request("fs/close", { handleId: "h" });
    await expectNoDescriptorLeft();
  });

  it("takes the handles of a lost connection, and only those", async () => {
    writeFileSync(`${base}/many`, "many");
    const open = (by: SessionClient, handleId: string) =>
      by.request("fs/open", { handleId, path: uriOf(`${base}/many`) });
    await open(client, "mine");
    const lost = await openSession(server.url);
    await Promise.all(Array.from({ length: MAX_HANDLES }, (_, i) => open(lost, `h${i}`)));
    expect(await failureOf(open(lost, "one too many"))).toEqual({ code: -32600 });
    expect(openDescriptors(server.pid).length).toBeGreaterThanOrEqual(descriptorsBefore + MAX_HANDLES);
    lost.cut();
    await pollUntil(
      () => openDescriptors(server.pid).length === descriptorsBefore + 1,
      SETTLE_DEADLINE_MS,
      () => `${openDescriptors(server.pid).length} descriptors of which ${descriptorsBefore + 1} may stay`,
    );
    expect(await client.request("fs/readBlock", { handleId: "mine", offset: 0, len: 9 })).toMatchObject({
      chunk: Buffer.from("many").toString("base64"),
    });
    await client.request("fs/close", { handleId: "mine" });
    await expectNoDescriptorLeft();
  });

  it(
    "is never won by a write of a lost connection to a file that another has opened since",
    async () => {
      const copiers = await Promise.all(Array.from({ length: BUSY_COPIES }, () => openSession(server.url)));
      const writeBlock = (by: SessionClient, handleId: string, text: string) =>
        by.request("fs/writeBlock", { handleId, offset: 0, chunk: Buffer.from(text).toString("base64") });
      const openFor = (by: SessionClient, handleId: string) =>
        by.request("fs/open", { handleId, path: uriOf(`${base}/${handleId}`), mode: "replace" });
      writeFileSync(`${base}/busy`, "");
      truncateSync(`${base}/busy`, BUSY_COPY_BYTES);
      let lost = 0;
      // On a slow machine the copies may be over before the cut, which proves nothing then.
      const isEnough = (round: number): boolean =>
        round >= HANDLE_ROUNDS * faultRounds && (lost > 0 || round >= MAX_HANDLE_ROUNDS);
      for (let round = 0; !isEnough(round); round += 1) {
        const writer = await openSession(server.url);
        await openFor(writer, "foreign");
        // Whatever does the server's work with files is busy, so that the write waits.
        const copies = copiers.map((copier, i) =>
          copier.request("fs/copy", {
            sourcePath: uriOf(`${base}/busy`),
            destinationPath: uriOf(`${base}/busy-${round}-${i % 4}`),
            recursive: false,
          }),
        );
        await pollUntil(
          () => [0, 1, 2, 3].every((i) => existsSync(`${base}/busy-${round}-${i}`)),
          SETTLE_DEADLINE_MS,
          () => "the beginning of the copies",
        );
        const written = writeBlock(writer, "foreign", "foreign ".repeat(1000)).then(
          () => 0,
          () => 1,
        );
        for (let turn = 0; turn < 3; turn += 1) await client.request("environment/status");
        writer.cut();
        for (let turn = 0; turn < 3; turn += 1) await client.request("environment/status");
        const own = Array.from({ length: 16 }, (_, i) => `own-${i}`);
        await Promise.all(own.map((name) => openFor(client, name)));
        await Promise.all(copies);
        await Promise.all(own.map((name) => writeBlock(client, name, name)));
        await Promise.all(own.map((handleId) => client.request("fs/close", { handleId })));
        const contents = own.map((name) => readFileSync(`${base}/${name}`, "latin1").slice(0, 20));
        expect(contents, `round ${round}`).toEqual(own);
        for (let i = 0; i < 4; i += 1) rmSync(`${base}/busy-${round}-${i}`);
        lost += await written;
      }
      expect(lost).toBeGreaterThan(0);
      for (const copier of copiers) copier.cut();
      await expectNoDescriptorLeft();
    },
    LONG_FORM_MS,
  );
});

/** Each 4 KiB are different, so that a piece in the wrong place is noticed. */
function randomContents(random: SeededRandom, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += 4096) bytes.writeUInt32BE(random.between(0, 2 ** 31), at);
  return bytes;
}
