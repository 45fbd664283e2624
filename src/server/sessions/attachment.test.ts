import { beforeEach, expect, it } from "vitest";
import { silentLogger } from "../../base/logger.ts";
import { createRights, FULL_RIGHTS } from "../access/rights.ts";
import type { RightsOptions } from "../settings/rights-options.ts";
import { Audience } from "./audience.ts";
import type { ProcessEntry } from "./process-table.ts";
import { Attachment } from "./attachment.ts";

const CONTEXT = { temporaryDirectory: undefined, logger: silentLogger, hiddenPaths: [], fsRoots: [] };
const client = (principal: string, options: RightsOptions = { preset: "full" }) => ({
  principal,
  rights: createRights(options, CONTEXT),
});

let sizes: number[];
let audience: Audience;
let entry: ProcessEntry;
let known: ProcessEntry | undefined;
let forgotten: string[];

beforeEach(() => {
  sizes = [];
  forgotten = [];
  audience = new Audience(({ rows }) => void sizes.push(rows));
  entry = { id: "k", process: {}, audience, rights: FULL_RIGHTS } as unknown as ProcessEntry;
  known = entry;
});

function attach(mode?: "follow" | "control", connection: object = {}): Attachment {
  const table = {
    get: (key: string) => (key === "k" ? known : undefined),
    forget: (key: string) => forgotten.push(key) > 0,
  };
  return new Attachment(
    { table, entry },
    mode === undefined ? undefined : { owner: "name:ann", mode, connection },
  );
}

it("a process of another session is followed, has no name, and is for nobody else", () => {
  const attached = attach();
  expect([attached.isKept, attached.mode]).toEqual([false, "follow"]);
  expect(attached.isFor(client("name:ann"))).toBe(false);
  attached.join();
  attached.typed();
  attached.resize({ rows: 1, columns: 1 });
  attached.leave();
  expect([audience.connections, sizes]).toEqual([0, []]);
});

it("a kept process is for whom it belongs to, and for others as far as they are granted", () => {
  const [followed, controlled] = [attach("follow"), attach("control")];
  expect([followed.isKept, followed.mode]).toEqual([true, "follow"]);
  const isFor = (who: ReturnType<typeof client>) => [followed.isFor(who), controlled.isFor(who)];
  expect(isFor(client("name:ann"))).toEqual([true, true]);
  expect(isFor(client("name:bob"))).toEqual([false, false]);
  expect(isFor(client("name:bob", { preset: "full", see: ["ann"] }))).toEqual([true, false]);
  expect(isFor(client("name:bob", { preset: "full", control: ["ann"] }))).toEqual([true, true]);
});

it("a process is known until it is forgotten, or another one has its name", () => {
  const attached = attach("follow");
  expect(attached.isKnown).toBe(true);
  attached.forget();
  expect(forgotten).toEqual(["k"]);
  known = { ...entry };
  expect(attached.isKnown).toBe(false);
  attached.forget();
  known = undefined;
  expect([attached.isKnown, forgotten]).toEqual([false, ["k"]]);
});

it("those who share a kept process count while they are there, and share its window", () => {
  const connection = {};
  const [one, two, other] = [attach("control", connection), attach("follow", connection), attach("control")];
  for (const attached of [one, two, other]) attached.join();
  expect(audience.connections).toBe(2);
  one.resize({ rows: 10, columns: 80 });
  other.resize({ rows: 20, columns: 80 });
  one.typed();
  expect(sizes).toEqual([10, 20, 10]);
  one.leave();
  expect([sizes.at(-1), audience.connections]).toEqual([20, 2]);
  two.leave();
  expect(audience.connections).toBe(1);
});
