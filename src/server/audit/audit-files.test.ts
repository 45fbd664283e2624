import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { AuditScene, base64, eventually } from "../../../test/fixtures/audit-scene.ts";
import { linesOf } from "../../../test/fixtures/audit-lines.ts";
import { createServer, type Server } from "../serve/server.ts";
import { AuditLog } from "./audit-log.ts";
import { formatHead } from "./chain.ts";
import { rotatedNumbers } from "./rotated-files.ts";

const scene = new AuditScene();

it("a restarted server continues the chain, in a full file's successor too", async () => {
  for (let run = 0; run < 3; run += 1) {
    const link = await scene.linked({ audit: { file: scene.file, maxBytes: 4_096 } });
    for (let index = 0; index < 20; index += 1)
      await link.request("fs/writeFile", { path: scene.uri("a"), dataBase64: base64("x".repeat(index)) });
    await scene.server?.close();
  }
  const { fault, first, lines, head } = await scene.verdict();
  expect(fault).toBeUndefined();
  expect(first).toBe(1);
  expect(rotatedNumbers(scene.file).length).toBeGreaterThan(2);
  expect(lines).toBe(head?.line);
  for (const number of rotatedNumbers(scene.file)) {
    const [opened] = linesOf(`${scene.file}.${number}`);
    expect(opened?.event).toBe("opened");
    expect(opened?.["continues"]).toBe(`${(opened?.["n"] as number) - 1}:${opened?.["prev"] as string}`);
    expect(statSync(`${scene.file}.${number}`).size).toBeLessThan(6_000);
  }
  expect(
    scene.lines().filter(({ event, reason }) => event === "opened" && reason === "started"),
  ).toHaveLength(3);
});

it("a last line that a crash has torn is removed and recorded", async () => {
  await scene.linked();
  await scene.server?.close();
  const before = (await scene.verdict()).head;
  appendFileSync(scene.file, '{"n":99,"prev":"half a li');
  await scene.linked();
  await scene.server?.close();
  expect((await scene.verdict(before)).fault).toBeUndefined();
  expect(scene.lines().find(({ torn }) => torn !== undefined)).toMatchObject({
    event: "opened",
    continues: formatHead(before!),
    torn: { bytes: 25, text: '{"n":99,"prev":"half a li' },
  });
});

it("a file that is no log, ends with a changed line, is a link, a FIFO or in use is refused with one line", async () => {
  const open = (path: string): Server => createServer({ audit: { file: path } });
  await scene.linked();
  const isUsed = (path: string): string =>
    `another server is writing the audit log ${path}: give each server its own file`;
  expect(() => open(scene.file)).toThrow(isUsed(scene.file));
  const [lock, otherName] = [`${scene.file}.lock`, join(scene.directory, "other name")];
  rmSync(lock);
  expect(() => open(scene.file)).toThrow(isUsed(scene.file));
  linkSync(scene.file, otherName);
  expect(() => open(otherName)).toThrow(isUsed(otherName));
  await scene.server?.close();
  writeFileSync(scene.file, readFileSync(scene.file, "utf8").replace("stopped", "changed"));
  expect(() => open(scene.file)).toThrow(/last line of the audit log .* is damaged: .*audit verify/);
  writeFileSync(scene.file, "a text\n");
  expect(() => open(scene.file)).toThrow("is damaged");
  writeFileSync(scene.file, "x".repeat(3_000_000));
  expect(() => open(scene.file)).toThrow(`${scene.file} is not an audit log: move it away`);
  expect(readFileSync(scene.file, "utf8")).toHaveLength(3_000_000);
  const link = join(scene.directory, "link");
  symlinkSync(scene.file, link);
  expect(() => open(link)).toThrow(
    `cannot write the audit log ${link}: it is a symbolic link, which is not followed`,
  );
  const fifo = join(scene.directory, "fifo");
  execFileSync("mkfifo", [fifo]);
  expect(() => open(fifo)).toThrow(`the audit log ${fifo} is not a regular file`);
  expect(() => open(scene.directory)).toThrow("Is a directory");
  expect(() => open(join(scene.directory, "no/such/file"))).toThrow("No such file or directory");
});

it("a file that is moved away is followed by a new one, which continues it", async () => {
  const link = await scene.linked();
  const write = (): Promise<unknown> =>
    link.request("fs/writeFile", { path: scene.uri("a"), dataBase64: "" });
  await write();
  await eventually(() => expect(scene.lines().at(-1)?.event).toBe("writeFile"));
  renameSync(scene.file, `${scene.file}.1`);
  await write();
  await eventually(() => expect(scene.lines().at(-1)?.event).toBe("writeFile"));
  await scene.server?.close();
  expect(linesOf(scene.file)[0]).toMatchObject({ event: "opened", reason: "gone" });
  expect(scene.warnings).toEqual(["the audit log was moved away or deleted by another program"]);
  expect((await scene.verdict()).fault).toBeUndefined();
});

it.each([
  ["emptied", () => truncateSync(scene.file, 0)],
  ["cut", () => truncateSync(scene.file, statSync(scene.file).size - 10)],
  ["written", () => appendFileSync(scene.file, "a line\n")],
])(
  "a file that somebody else has %s is put aside, and the next one continues the chain",
  async (_, change) => {
    const link = await scene.linked();
    const write = (): Promise<unknown> =>
      link.request("fs/writeFile", { path: scene.uri("a"), dataBase64: "" });
    await write();
    await eventually(() => expect(scene.lines().at(-1)?.event).toBe("writeFile"));
    const { hash } = linesOf(scene.file).at(-1)!;
    change();
    const changed = readFileSync(scene.file, "utf8");
    await write();
    await eventually(() => expect(readFileSync(`${scene.file}.1`, "utf8")).toBe(changed));
    await scene.server?.close();
    expect(linesOf(scene.file)[0]).toMatchObject({ event: "opened", reason: "changed", prev: hash });
    expect(scene.warnings).toEqual(["the audit log was truncated or written to by another program"]);
  },
);

it("a full file takes no name that is in use", () => {
  const log = new AuditLog({ file: scene.file, maxBytes: 4_096, logger: scene.logger, version: undefined });
  writeFileSync(`${scene.file}.1`, "foreign");
  log.add("event", { text: "x".repeat(4_096) });
  return eventually(() => {
    log.add("event", {});
    expect(rotatedNumbers(scene.file)).toEqual([1, 2]);
  })
    .then(() => expect(readFileSync(`${scene.file}.1`, "utf8")).toBe("foreign"))
    .then(() => log.close());
});
