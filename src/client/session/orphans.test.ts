import { expect, test } from "vitest";
import { createDeferred, type Deferred } from "../../base/deferred.ts";
import { ConnectionError, RpcError } from "../../base/errors.ts";
import type { Link } from "../../rpc/link.ts";
import { Orphans } from "./orphans.ts";

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("an orphan is ended once on each link, until the server has answered", async () => {
  const orphans = new Orphans();
  orphans.add("p");
  const first = new FakeLink();
  orphans.terminate(first.link);
  orphans.terminate(first.link);
  expect(first.asked).toEqual([["process/terminate", { processId: "p" }]]);
  first.answers[0]!.reject(new ConnectionError("cut"));
  await settle();
  expect(orphans.size).toBe(1);
  const second = new FakeLink();
  orphans.terminate(second.link);
  expect(second.asked).toHaveLength(1);
  second.answers[0]!.resolve({});
  await settle();
  expect(orphans.size).toBe(0);
  orphans.terminate(new FakeLink().link);
  expect(second.asked).toHaveLength(1);
});

test("a process that the server does not know has ended", async () => {
  const orphans = new Orphans();
  orphans.add("p");
  const link = new FakeLink();
  orphans.terminate(link.link);
  link.answers[0]!.reject(new RpcError(-32004, "unknown process"));
  await settle();
  expect(orphans.size).toBe(0);
});

test("later orphans are ended on the same link, those before them are not asked for again", () => {
  const orphans = new Orphans();
  const link = new FakeLink();
  for (const processId of ["a", "b"]) {
    orphans.add(processId);
    orphans.terminate(link.link);
  }
  expect(orphans.size).toBe(2);
  expect(link.asked.map(([, { processId }]) => processId)).toEqual(["a", "b"]);
});

class FakeLink {
  readonly asked: [string, { processId: string }][] = [];
  readonly answers: Deferred<unknown>[] = [];
  readonly link = {
    request: (method: string, params: unknown) => {
      const answer = createDeferred<unknown>();
      this.asked.push([method, params as { processId: string }]);
      this.answers.push(answer);
      return answer.promise;
    },
  } as unknown as Link;
}
