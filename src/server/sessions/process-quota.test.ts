import { describe, expect, it } from "vitest";
import { FULL_RIGHTS } from "../access/rights.ts";
import { ProcessQuota } from "./process-quota.ts";

const LIMITS = {
  maxProcesses: 4,
  maxProcessesPerSession: 3,
  maxRetainedBytes: 1_000,
  maxRetainedBytesPerProcess: 100,
};

const quotaOf = (limits: Partial<typeof LIMITS> = {}): ProcessQuota =>
  new ProcessQuota({ ...LIMITS, ...limits });
const owner = (principal: string, maxProcesses?: number) => ({
  principal,
  rights: { ...FULL_RIGHTS, limits: maxProcesses === undefined ? {} : { maxProcesses } },
});
const IN_SESSION = "this session has too many processes";
const ON_SERVER = "the server has too many processes";
const OF_TOKEN = "this token has too many processes";
const NO_ROOM = "the server has no room for the output of another process";

describe("a process is refused beyond a limit, and admitted once another one has closed", () => {
  it("of its session", () => {
    const quota = quotaOf();
    const [take, takeElsewhere] = [quota.share(owner("ann")), quota.share(owner("ann"))];
    const [first] = [take(), take(), take()];
    expect(take).toThrow(IN_SESSION);
    takeElsewhere();
    first.closed(0);
    take();
    expect(take).toThrow(IN_SESSION);
  });

  it("of the server, to which kept processes belong, too", () => {
    const quota = quotaOf();
    const kept = quota.shareOfKept("bob");
    const slots = Array.from({ length: 4 }, kept);
    for (const take of [kept, quota.share(owner("ann"))]) expect(take).toThrow(ON_SERVER);
    slots[0]!.free();
    quota.share(owner("ann"))();
    expect(kept).toThrow(ON_SERVER);
  });

  it("of its token, whatever its sessions", () => {
    const quota = quotaOf();
    const ann = owner("ann", 2);
    const first = quota.share(ann)();
    quota.share(owner("bob", 2))();
    quota.shareOfKept("ann")();
    expect(quota.share(ann)).toThrow(OF_TOKEN);
    expect(() => quota.checkOwn("ann", ann.rights)).toThrow(OF_TOKEN);
    first.closed(0);
    expect(() => quota.checkOwn("ann", ann.rights)).not.toThrow();
    quota.share(ann)();
    expect(quota.share(ann)).toThrow(OF_TOKEN);
  });
});

it("a limit says what it is and how much", () => {
  const quota = quotaOf({ maxProcesses: 0 });
  expect(quota.share(owner("ann"))).toThrow(
    expect.objectContaining({
      data: expect.objectContaining({ limit: "maxProcesses", value: 0 }) as unknown,
    }),
  );
});

it("output counts with all that it may have while its process runs, with what is kept after that, and not once it is forgotten", () => {
  const quota = quotaOf({ maxRetainedBytes: 250 });
  const take = quota.share(owner("ann"));
  const [first, second] = [take(), take()];
  expect(take).toThrow(NO_ROOM);
  first.closed(51);
  expect(take).toThrow(NO_ROOM);
  first.free();
  take();
  expect(take).toThrow(NO_ROOM);
  second.closed(50);
  take();
  expect(take).toThrow(NO_ROOM);
});

it("room for exactly one more is room", () => {
  const take = quotaOf({ maxRetainedBytes: 200 }).share(owner("ann"));
  expect([take(), take()]).toHaveLength(2);
  expect(take).toThrow(NO_ROOM);
});

it("a process that closes or is forgotten again gives back nothing twice", () => {
  const quota = quotaOf({ maxProcessesPerSession: 1, maxRetainedBytes: 200 });
  const take = quota.share(owner("ann"));
  const first = take();
  const freed: string[] = [];
  first.freed = () => freed.push("freed");
  first.closed(30);
  first.closed(99);
  take();
  expect(take).toThrow(IN_SESSION);
  first.free();
  expect(freed).toEqual(["freed"]);
  expect(take).toThrow(IN_SESSION);
});
