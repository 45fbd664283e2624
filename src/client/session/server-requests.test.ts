import { expect, test } from "vitest";
import { createDeferred } from "../../base/deferred.ts";
import { ProtocolError } from "../../base/errors.ts";
import { ServerRequests } from "./server-requests.ts";

const METHOD = "network/policyRequest";
const REQUEST = { protocol: "https_connect", host: "example.com", port: 443 };
const NO = { decision: { type: "deny", reason: "not_allowed" } };
const question = (processId = "p"): object => ({ processId, request: REQUEST });

test("the function of a process decides, and knows what is asked", async () => {
  const requests = new ServerRequests();
  const asked: unknown[] = [];
  requests.decide("p", async (access) => {
    asked.push(access);
    return { type: "allow" };
  });
  expect(await requests.answer(METHOD, question())).toEqual({ decision: { type: "allow" } });
  expect(asked).toEqual([{ processId: "p", ...REQUEST }]);
});

test("the answer is no without a decision", async () => {
  const requests = new ServerRequests();
  expect(await requests.answer(METHOD, question())).toEqual(NO);
  requests.decide("p", async () => undefined);
  expect(await requests.answer(METHOD, question())).toEqual(NO);
});

test("the first function of a process counts, until the process is forgotten", async () => {
  const requests = new ServerRequests();
  requests.decide("p", async () => ({ type: "allow" }));
  requests.decide("p", async () => undefined);
  expect(await requests.answer(METHOD, question())).toEqual({ decision: { type: "allow" } });
  requests.forget("p");
  expect(await requests.answer(METHOD, question())).toEqual(NO);
});

test("other methods are not answered, and a question that makes no sense is refused", async () => {
  const requests = new ServerRequests();
  expect(requests.answer("other", question())).toBeUndefined();
  await expect(requests.answer(METHOD, {})).rejects.toThrow(ProtocolError);
});

test("256 questions are answered at a time, whether they are decided or fail", async () => {
  const requests = new ServerRequests();
  const decided = createDeferred<undefined>();
  let fails = false;
  requests.decide("p", async () => {
    await decided.promise;
    if (fails) throw new Error("a fault of the program");
    return undefined;
  });
  const answers = Array.from({ length: 256 }, () => requests.answer(METHOD, question())!);
  expect(answers).not.toContain(undefined);
  expect(requests.answer(METHOD, question())).toBeUndefined();
  fails = true;
  decided.resolve(undefined);
  await Promise.allSettled(answers);
  expect(await Promise.allSettled([requests.answer(METHOD, question())!])).toMatchObject([
    { status: "rejected" },
  ]);
});
