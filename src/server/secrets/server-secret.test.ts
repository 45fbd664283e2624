import { describe, expect, it } from "vitest";
import { silentLogger } from "../../base/logger.ts";
import { ServerSecret, type ServerSecretOptions } from "./server-secret.ts";

const [FIRST, SECOND] = ["k-abcdefghijklmnopqrst", "k-zyxwvutsrqponmlkjihgf"];

function secretOf(from: ServerSecretOptions["from"]) {
  const scene = { now: 0, value: FIRST as string | Error, reads: 0, log: [] as unknown[] };
  const secret = new ServerSecret({
    name: "S",
    from,
    now: () => scene.now,
    read: async () => {
      scene.reads += 1;
      if (scene.value instanceof Error) throw scene.value;
      return scene.value;
    },
    logger: { ...silentLogger, error: (message, fields) => scene.log.push([message, fields]) },
  });
  return { scene, secret };
}

describe("a secret of the server", () => {
  it.each([
    ["file", 500],
    ["command", 60_000],
  ] as const)("from a %s is read again after %i ms, and earlier values are remembered", async (from, ms) => {
    const { scene, secret } = secretOf(from);
    await secret.refresh();
    expect([secret.current, secret.values]).toEqual([FIRST, [FIRST]]);
    scene.value = `${SECOND}\n`;
    scene.now = ms - 1;
    expect(secret.refresh()).toBeUndefined();
    const before = secret.values;
    scene.now = ms;
    await Promise.all([secret.refresh(), secret.refresh()]);
    expect([secret.current, secret.values]).toEqual([SECOND, [SECOND, FIRST]]);
    expect(before).toEqual([FIRST]);
  });

  it("from the environment is read once", async () => {
    const { scene, secret } = secretOf("env");
    await secret.refresh();
    scene.now = 1e12;
    expect(secret.refresh()).toBeUndefined();
    expect(scene.reads).toBe(1);
  });

  it("is not used while it cannot be read, is looked for, and its fault is logged once", async () => {
    const { scene, secret } = secretOf("command");
    await secret.refresh();
    scene.value = new Error("gone");
    for (const now of [60_000, 61_000, 62_000]) {
      scene.now = now;
      await secret.refresh();
      expect([secret.current, secret.fault, secret.values]).toEqual([undefined, "gone", [FIRST]]);
    }
    expect(scene.log).toEqual([["a secret cannot be read", { name: "S", reason: "gone" }]]);
    scene.value = SECOND;
    scene.now = 63_000;
    await secret.refresh();
    expect([secret.current, secret.fault]).toEqual([SECOND, undefined]);
  });

  it("remembers four values", async () => {
    const { scene, secret } = secretOf("file");
    for (let index = 0; index < 6; index += 1) {
      scene.value = FIRST + index;
      scene.now = index * 500;
      await secret.refresh();
    }
    expect(secret.values).toEqual([5, 4, 3, 2].map((index) => FIRST + index));
  });

  it.each([
    "",
    "short",
    "with a space inside it",
    "p\u00e4ssw\u00f6rt-p\u00e4ssw\u00f6rt",
    "!@#$^&*()_+-=[]{}|!",
  ])("cannot be %j", async (value) => {
    const { scene, secret } = secretOf("command");
    scene.value = value;
    await secret.refresh();
    expect([secret.current, secret.values]).toEqual([undefined, []]);
    expect(secret.fault).toContain("16 to 4096 printable ASCII characters");
  });
});
