import { expect, it } from "vitest";
import { createDeferred } from "../../src/base/deferred.ts";
import { answerWith, functionCall, message, outputsOf, sendEvents } from "../fixtures/scripted-model.mjs";
import { type Behaviour, endpointOf, good, report, runAgents } from "./agent-rows.ts";

const reporting =
  (...reports: readonly object[]): Behaviour =>
  ({ response, jobId, itemId, request }) => {
    const own = { job_id: jobId, item_id: itemId, result: {} };
    const next = reports[request - 1];
    answerWith(response, itemId, next === undefined ? [] : [report({ ...own, ...next }, `call-${request}`)]);
  };
const refusing =
  (status: number, headers: Record<string, string> = {}): Behaviour =>
  ({ response }) =>
    response.writeHead(status, headers).end(JSON.stringify({ error: { message: "not now, sk-secret" } }));

/** Each of them, and how its item must end. */
const MISBEHAVING: Readonly<Record<string, readonly [Behaviour, string]>> = {
  "never reports": [
    ({ response, itemId }) => answerWith(response, itemId, [message("m", "Done!")]),
    "the agent ended its turn without a report",
  ],
  "reports twice": [reporting({}, {}), "the agent reported a second time"],
  "reports twice at once": [
    ({ response, jobId, itemId, request }) => {
      const args = { job_id: jobId, item_id: itemId, result: {} };
      answerWith(response, itemId, request === 1 ? [report(args, "call-1"), report(args, "call-2")] : []);
    },
    "the agent reported a second time",
  ],
  "reports for another job": [
    reporting({ job_id: "job-of-others" }),
    'the agent reported for another job: "job-of-others"',
  ],
  "reports for another item": [
    reporting({ item_id: "well-1" }),
    'the agent reported for another item: "well-1"',
  ],
  "reports nonsense": [
    reporting({ result: "text" }, { result: [1] }),
    "the agent's report was wrong twice: report_agent_job_result: result must be an object, not [1]",
  ],
  "does not correct its report": [
    reporting({ result: { score: "high" } }),
    "the agent did not correct its report: the result does not fit the schema: /score must be number",
  ],
  "reports what does not fit": [
    reporting({ result: { score: "high" } }, { result: { score: "low" } }),
    "the agent's report was wrong twice: the result does not fit the schema: /score must be number",
  ],
  "calls tools without end": [
    ({ response, itemId, request }) =>
      answerWith(response, itemId, [functionCall(`call-${request}`, "exec_command", "{}")]),
    "the agent was not done after 20 turns",
  ],
  "calls many tools at once": [
    ({ response, itemId }) =>
      answerWith(
        response,
        itemId,
        Array.from({ length: 40 }, (_, index) => functionCall(`call-${index}`, "no_such_tool", "{}")),
      ),
    "the agent called more than 30 tools",
  ],
  "is always told 429": [refusing(429), "the endpoint answered 429: not now, [key] (tried 3 times)"],
  "is told to wait for an hour": [
    refusing(429, { "retry-after": "3600" }),
    "the endpoint answered 429: not now, [key]; it asks to wait 3600s",
  ],
  "is always told 500": [refusing(500), "the endpoint answered 500: not now, [key] (tried 3 times)"],
  "is told 400": [refusing(400), "the endpoint answered 400: not now, [key]"],
  "gets garbage for events": [
    ({ response }) => response.writeHead(200, { "content-type": "text/event-stream" }).end("data: {{{\n\n"),
    "the endpoint's answer is not JSON (tried 3 times)",
  ],
  "gets a page": [
    ({ response }) => response.writeHead(200, { "content-type": "text/html" }).end("<html>Welcome</html>"),
    "the endpoint's answer ended before the model's turn did (tried 3 times)",
  ],
  "gets half an answer": [
    ({ response, itemId }) => {
      sendEvents(response, [{ type: "response.created", response: { id: itemId } } as { type: string }]);
      setImmediate(() => response.destroy());
    },
    "the endpoint did not answer: other side closed (tried 3 times)",
  ],
  "is cut off": [
    ({ response }) => {
      const incomplete_details = { reason: "max_output_tokens" };
      const end = { type: "response.incomplete", response: { id: "r", incomplete_details } };
      sendEvents(response, [end]);
      response.end();
    },
    "the model's turn was cut off: max_output_tokens",
  ],
  "gets the end of another's turn": [
    ({ response }) => {
      const created = { type: "response.created", response: { id: "own" } };
      const completed = { type: "response.completed", response: { id: "foreign" } };
      sendEvents(response, [created, completed] as { type: string }[]);
      response.end();
    },
    "the endpoint's answer ended before the model's turn did (tried 3 times)",
  ],
};

const BEHAVING: Readonly<Record<string, Behaviour>> = {
  "is told 429 once": (scene) =>
    scene.request === 1 ? refusing(429)(scene) : good({ ...scene, request: scene.request - 1 }),
  "corrects its report": reporting({ result: { score: "high" } }, { result: { score: 5 } }),
  "fails after its report": (scene) => (scene.request === 1 ? good(scene) : refusing(500)(scene)),
};

const WELL = Array.from({ length: 10 }, (_, index) => `well-${index + 1}`);
const SCHEMA = { type: "object", properties: { score: { type: "number" } } } as const;

it("each item whose agent misbehaves ends as documented, and none holds up another", async () => {
  const hanging: Behaviour = ({ response }) => sendEvents(response, []);
  const ids = ["hangs", ...Object.keys(MISBEHAVING), ...Object.keys(BEHAVING), ...WELL];
  const misbehaving = Object.fromEntries(Object.entries(MISBEHAVING).map(([id, [act]]) => [id, act]));
  await using endpoint = await endpointOf({ ...BEHAVING, ...misbehaving, hangs: hanging });
  const interruption = new AbortController();
  let ended = 0;
  const { summary, records } = await runAgents(endpoint, ids, {
    outputSchema: SCHEMA,
    maxTurns: 20,
    maxToolCalls: 30,
    signal: interruption.signal,
    // The one that hangs would hang for minutes; it is given up when all others have ended.
    onRecord: () => {
      ended += 1;
      if (ended === ids.length - 1) interruption.abort(new Error("seen enough"));
    },
  });
  const errors = Object.fromEntries(Object.keys(MISBEHAVING).map((id) => [id, records[id]?.error]));
  expect(errors).toEqual(
    Object.fromEntries(Object.entries(MISBEHAVING).map(([id, [, error]]) => [id, error])),
  );
  for (const id of [...WELL, ...Object.keys(BEHAVING)])
    expect(records[id]).toMatchObject({ status: "completed" });
  for (const id of WELL) expect(records[id]?.result).toEqual({ item_id: id });
  expect(records["corrects its report"]?.result).toEqual({ score: 5 });
  expect(records["hangs"]).toMatchObject({ status: "cancelled" });
  expect(summary).toMatchObject({
    end: "interrupted",
    failed: Object.keys(MISBEHAVING).length,
    cancelled: 1,
  });
});

it("an agent learns why its report was refused", async () => {
  const ids = ["reports twice", "reports for another item", "reports what does not fit"];
  const behaviours = Object.fromEntries(ids.map((id) => [id, MISBEHAVING[id]![0]]));
  await using endpoint = await endpointOf(behaviours);
  await runAgents(endpoint, ids, { outputSchema: SCHEMA });
  const told = endpoint.requests.flatMap((asked) => outputsOf(asked)).join("\n");
  expect(told).toContain('{"accepted":true}');
  expect(told).toContain("the agent reported a second time; this item has failed");
  expect(told).toContain("the agent reported for another item");
  expect(told).toContain("/score must be number; correct it and report once more");
  // A failed agent may learn of it, but not call anything more.
  const last = endpoint.requests.filter(({ tool_choice }) => tool_choice === "none");
  expect(last).toHaveLength(ids.length);
});

it("an endpoint that is silent for too long fails the item", async () => {
  await using endpoint = await endpointOf({
    before: () => {},
    after: ({ response }) => sendEvents(response, [{ type: "response.created" }]),
  });
  const model = { idleTimeoutMs: 100, retries: 0 };
  const { records } = await runAgents(endpoint, ["before", "after"], { model });
  expect(records["before"]).toMatchObject({ error: "the endpoint was silent for 100ms" });
  expect(records["after"]).toMatchObject({ error: "the endpoint was silent for 100ms" });
});

it.each([
  ["of one event", "x".repeat(65_536), "an event of the endpoint's answer is longer than 2097152 characters"],
  [
    "of many",
    `data: "${"x".repeat(5_000)}"\n\n`.repeat(12),
    "the endpoint's answer is longer than 8388608 bytes",
  ],
])("an answer without end fails the item: %s", async (_, chunk, error) => {
  await using endpoint = await endpointOf({
    endless: ({ response }) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
        response.once("drain", more);
      };
      more();
    },
  });
  const { records } = await runAgents(endpoint, ["endless"], { model: { retries: 0 } });
  expect(records["endless"]).toMatchObject({ error });
});

it("a request is repeated no earlier than the endpoint asks", async () => {
  const times: number[] = [];
  await using endpoint = await endpointOf({
    patient: (scene) => {
      times.push(performance.now());
      if (scene.request === 1) refusing(429, { "retry-after-ms": "200" })(scene);
      else good({ ...scene, request: scene.request - 1 });
    },
  });
  const { records } = await runAgents(endpoint, ["patient"]);
  expect(records["patient"]).toMatchObject({ status: "completed" });
  expect(times[1]! - times[0]!).toBeGreaterThan(195);
});

it.each([401, 403, 404])("a %i ends the job: every other agent would get the same", async (status) => {
  await using endpoint = await endpointOf({ "row-1": refusing(status) });
  const { summary, records } = await runAgents(endpoint, ["row-1", "row-2", "row-3"], { maxConcurrency: 1 });
  expect(records["row-1"]).toMatchObject({ status: "failed", attempts: 1 });
  expect(summary).toMatchObject({ end: "stopped", failed: 1, cancelled: 2 });
  expect(summary.reason).toBe(`the endpoint answered ${status}: not now, [key]`);
});

it("an agent that asks to stop cancels what has not begun, and nothing that runs", async () => {
  const running = createDeferred<void>();
  await using endpoint = await endpointOf({
    stops: async (scene) => {
      await running.promise;
      reporting({ stop: true })(scene);
    },
    runs: (scene) => {
      running.resolve();
      good(scene);
    },
  });
  const { summary, records } = await runAgents(endpoint, ["stops", "runs", "waits", "waits-2"], {
    maxConcurrency: 2,
  });
  expect(records["stops"]).toMatchObject({ status: "completed" });
  expect(records["runs"]).toMatchObject({ status: "completed" });
  expect(summary).toMatchObject({ end: "stopped", reason: "the agent of stops asked to stop" });
});

it("a job asks for no more turns when its tokens are used up", async () => {
  await using endpoint = await endpointOf({});
  const { summary, records, tokens } = await runAgents(endpoint, ["row-1", "row-2", "row-3"], {
    maxTokensTotal: 3,
    maxConcurrency: 1,
  });
  // Each turn costs two.
  expect(tokens).toEqual({ input: 2, cached: 0, output: 2, total: 4 });
  expect(records["row-1"]).toMatchObject({ status: "completed", tokens: 4 });
  expect(summary).toMatchObject({
    end: "stopped",
    cancelled: 2,
    reason: "the job has used 4 tokens, and may use 3",
  });
});

it("an item is tried again with a new agent", async () => {
  await using endpoint = await endpointOf({
    "row-1": (scene) =>
      scene.request === 1
        ? answerWith(scene.response, "r", [])
        : good({ ...scene, request: scene.request - 1 }),
  });
  const { records } = await runAgents(endpoint, ["row-1"], { retries: 1 });
  expect(records["row-1"]).toMatchObject({ status: "completed", attempts: 2, tokens: 6 });
  expect(endpoint.requests.map(({ input }) => input.length)).toEqual([1, 1, 3]);
});

it("a row that is too long for a conversation fails before a model is asked", async () => {
  await using endpoint = await endpointOf({});
  const instruction = (): string => "x".repeat(5 * 1024 * 1024);
  const { records } = await runAgents(endpoint, ["row-1"], { instruction });
  expect(records["row-1"]?.error).toBe("the agent's conversation is longer than 4194304 bytes");
  expect(endpoint.requests).toEqual([]);
});
