import { openLink } from "../fixtures/open-link.ts";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import type { Link } from "../../src/rpc/link.ts";
import { type ListeningServer, serve } from "../../src/server/index.ts";
import { mountTmpfs } from "./mounted-tmpfs.ts";

const PATIENCE = { timeout: 60_000 };
/** More lines than fit into a page. */
const USED_UP = 20;

interface Scene extends AsyncDisposable {
  readonly server: ListeningServer;
  readonly link: Link;
  readonly messages: string[];
  readonly target: string;
  /** Answer of the probe. */
  readiness(): Promise<number>;
  fill(): void;
  free(): void;
  bytes(): Buffer;
  lines(): { event: string; lost?: number }[];
}

/** A server whose audit log is on a small disk. */
async function openScene(onFailure: "refuse" | "continue"): Promise<Scene> {
  const disk = mountTmpfs("48m");
  const file = join(disk.path, "audit.jsonl");
  const ballast = join(disk.path, "ballast");
  const messages: string[] = [];
  const note = (message: string): void => void messages.push(message);
  const server = await serve({
    audit: { file, onFailure },
    logger: { ...silentLogger, error: note, warn: note },
  });
  const link = openLink(server);
  await link.request("initialize", { clientName: "test" });
  link.notify("initialized", {});
  return {
    server,
    link,
    messages,
    target: join("/var/tmp", `exec-server-audit-${process.pid}-${performance.now()}`),
    readiness: async () => (await fetch(new URL("/readyz", server.url.replace("ws:", "http:")))).status,
    fill: () => {
      try {
        writeFileSync(ballast, Buffer.alloc(64 * 1024 * 1024));
      } catch {} // The disk is full now.
      expect(disk.freeBytes()).toBe(0);
    },
    free: () => rmSync(ballast),
    bytes: () => readFileSync(file),
    lines: () =>
      readFileSync(file, "utf8")
        .trimEnd()
        .split("\n")
        .map((text) => JSON.parse(text) as { event: string }),
    [Symbol.asyncDispose]: async () => {
      await server.close();
      disk[Symbol.dispose]();
    },
  };
}

const writeTo = ({ link }: Scene, path: string): Promise<unknown> =>
  link.request("fs/writeFile", { path: `file://${path}`, dataBase64: "" });

/** Fills the last page of the log, which the disk has already given to it. */
async function useUp(scene: Scene): Promise<void> {
  for (let index = 0; index < USED_UP; index += 1) await writeTo(scene, scene.target).catch(() => {});
}

it("while the disk is full, what would have to be recorded is refused before it happens", async () => {
  await using scene = await openScene("refuse");
  const { link, messages, target } = scene;
  expect(await scene.readiness()).toBe(200);
  scene.fill();
  await useUp(scene);
  await vi.waitFor(() => expect(messages).toEqual(["the audit log cannot be written"]), PATIENCE);
  expect(await scene.readiness()).toBe(503);
  rmSync(target, { force: true });
  const refusal = {
    message: expect.stringMatching(/audit log cannot be written/),
    data: { code: "AUDIT_FAILED" },
  };
  await expect(writeTo(scene, target)).rejects.toMatchObject(refusal);
  expect(existsSync(target)).toBe(false);
  const start = { processId: "p", argv: ["touch", target], cwd: "file:///", env: {}, tty: false };
  await expect(link.request("process/start", start)).rejects.toMatchObject(refusal);
  await expect(link.request("process/write", { processId: "p", chunk: "" })).rejects.toMatchObject(refusal);
  await expect(link.request("server/cordon", { cordoned: true })).rejects.toMatchObject(refusal);
  // Requests that only end something, or reveal nothing new, still work.
  await expect(link.request("process/terminate", { processId: "p" })).resolves.toEqual({ running: false });
  await expect(link.request("environment/status", {})).resolves.toBeDefined();
  expect(existsSync(target)).toBe(false);
  scene.free();
  await vi.waitFor(() => writeTo(scene, target), PATIENCE);
  expect(existsSync(target)).toBe(true);
  rmSync(target);
  expect(messages).toEqual(["the audit log cannot be written", "the audit log can be written again"]);
  expect(await scene.readiness()).toBe(200);
  await vi.waitFor(() => expect(scene.lines().at(-1)?.event).toBe("writeFile"), PATIENCE);
  expect(scene.lines().map(({ event }) => event)).toContain("failed");
  expect(scene.lines().some(({ event }) => event === "gap")).toBe(false);
});

it("by configuration it continues, says so, and counts the lines that are lost", async () => {
  await using scene = await openScene("continue");
  const { link, messages, target } = scene;
  scene.fill();
  await useUp(scene);
  await vi.waitFor(() => expect(messages).toEqual(["the audit log cannot be written"]), PATIENCE);
  expect(await scene.readiness()).toBe(200);
  let signals = 0;
  const signal = (count: number): Promise<unknown> => {
    signals += count;
    const request = () => link.request("process/signal", { processId: "p", signal: "interrupt" });
    return Promise.all(Array.from({ length: count }, request));
  };
  // More than wait in memory.
  for (let round = 0; round < 70; round += 1) await signal(1_000);
  await writeTo(scene, target);
  expect(existsSync(target)).toBe(true);
  rmSync(target);
  scene.free();
  await vi.waitFor(() => expect(messages.at(-1)).toBe("the audit log can be written again"), PATIENCE);
  await signal(1);
  await vi.waitFor(() => expect(scene.bytes().includes('"event":"gap"')).toBe(true), PATIENCE);
  await scene.server.close();
  const lines = scene.lines();
  const count = (name: string): number => lines.filter(({ event }) => event === name).length;
  const lost = lines.reduce((total, line) => total + (line.lost ?? 0), 0);
  expect(lost).toBeGreaterThan(1_000);
  expect(count("signal") + count("writeFile") + lost).toBe(signals + USED_UP + 1);
});
