import { describe, expect, it } from "vitest";
import { useMovedClock } from "../../../test/fixtures/moved-clock.ts";
import type { ReadResult } from "../../protocol/process.ts";
import type { NumberedEvent, ProcessEvent } from "./process-events.ts";
import { ProcessRoute, type RouteOwner } from "./process-route.ts";

const OWNER: RouteOwner = {
  readForCatchUp: () => expect.unreachable(),
  readAgain: () => expect.unreachable(),
  readsBack: false,
  hold: () => {},
  overdue: () => false,
  published: () => {},
  finished: () => {},
};

const output = (seq: number): NumberedEvent => ({
  seq,
  kind: "output",
  stream: "stdout",
  bytes: new Uint8Array(1),
});

const wait = useMovedClock();
const NOTHING: ReadResult = { chunks: [], nextSeq: 1, exited: false, exitCode: null, closed: false } as never;

/** A route whose first event is missing, and whose questions for it are answered so. */
function withMissing(answers: readonly (() => Promise<ReadResult>)[]) {
  const events: ProcessEvent[] = [];
  let asked = 0;
  const route: ProcessRoute = new ProcessRoute("p", {
    ...OWNER,
    readForCatchUp: () => answers[asked++]!(),
    overdue: () => {
      route.catchUp().catch(() => {});
      return true;
    },
    published: (_, event) => void events.push(event),
  });
  route.receive(output(2));
  const seen = (): string[] => events.map((event) => event.kind);
  return { seen, asked: () => asked };
}

const unanswered = (): Promise<ReadResult> => new Promise(() => {});
const lost = (): Promise<ReadResult> => Promise.reject(new Error("the connection was cut"));

describe("a missing event", () => {
  it("is a gap if the server does not answer, and not before it had time", async () => {
    const { seen } = withMissing([unanswered]);
    await wait(30_000);
    expect(seen()).toEqual([]);
    await wait(1_000);
    expect(seen()).toEqual(["gap", "output"]);
  });

  it("is a gap if the server has been asked three times and does not have it", async () => {
    const { seen, asked } = withMissing(Array.from({ length: 3 }, () => async () => NOTHING));
    await wait(3_000);
    expect([asked(), seen()]).toEqual([3, ["gap", "output"]]);
  });

  it("is asked for again, however often, if the question was lost with its connection", async () => {
    const { seen, asked } = withMissing([lost, lost, lost, lost, unanswered]);
    await wait(4 * 31_000);
    expect([asked(), seen()]).toEqual([5, []]);
    await wait(31_000);
    expect(seen()).toEqual(["gap", "output"]);
  });
});

describe("ProcessRoute", () => {
  it("wakes everybody who waits for the next event", async () => {
    const route = new ProcessRoute("p", OWNER);
    const waiting = [route.woken(0), route.woken(0)];
    route.receive(output(1));
    expect(await Promise.all(waiting)).toEqual([1, 1]);
    const again = route.woken(1);
    route.receive(output(2));
    expect(await again).toBe(2);
  });
});
