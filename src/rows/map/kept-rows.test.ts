import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Host } from "../../client/host/host.ts";
import { KeptRows } from "./kept-rows.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A server that keeps these processes. Those that `endsAfterMs` does not know never end. */
function hostWith(names: readonly string[], endsAfterMs: Readonly<Record<string, number>>) {
  const kept = new Set(names);
  const host = {
    supports: () => true,
    processes: async () => [...kept].map((name) => ({ name })),
    attachKept: async (name: string) => ({
      id: name,
      terminate: async () => true,
      detach: async () => void (endsAfterMs[name] !== undefined && kept.delete(name)),
    }),
    request: async (_method: string, { processId, timeoutMs }: { processId: string; timeoutMs: number }) => {
      const ms = endsAfterMs[processId] ?? Number.POSITIVE_INFINITY;
      await new Promise((resolve) => setTimeout(resolve, Math.min(ms, timeoutMs)));
      return { closed: ms <= timeoutMs };
    },
  } as unknown as Host;
  return { host, kept };
}

it("ends everything side by side, and names what has not ended when the time for all is over", async () => {
  const names = Array.from({ length: 300 }, (_, index) => `rows.job.${index}.1`);
  const stuck = ["rows.job.3.1", "rows.job.17.1"];
  const endsAfterMs = Object.fromEntries(
    names.filter((name) => !stuck.includes(name)).map((name) => [name, 0]),
  );
  const { host, kept } = hostWith([...names, "rows.other.0.1", "mine"], {
    ...endsAfterMs,
    "rows.other.0.1": 0,
    mine: 0,
  });
  const swept = new KeptRows(host, { hasInput: false }).sweep("job");
  await vi.advanceTimersByTimeAsync(5_100);
  expect(await swept).toEqual(stuck);
  expect([...kept]).toEqual([...stuck, "rows.other.0.1", "mine"]);
});

it("gives up on a server that does not answer", async () => {
  const { host } = hostWith(["rows.job.0.1"], {});
  vi.spyOn(host, "attachKept").mockReturnValue(new Promise(() => {}));
  const swept = new KeptRows(host, { hasInput: false }).sweep("job");
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await swept).toEqual(["rows.job.0.1"]);
});
