import { expect, it } from "vitest";
import { answerWith, message, ResponsesEndpoint } from "../fixtures/scripted-model.mjs";
import { endpointOf, runAgents } from "./agent-rows.ts";

it.each(["x", "1", "e", "none", "EMPTY"])(
  "the placeholder %j for a key does not damage answers",
  async (apiKey) => {
    await using endpoint = await endpointOf({});
    const { records } = await runAgents(endpoint, ["row-1"], { model: { apiKey } });
    expect(records["row-1"]).toMatchObject({ status: "completed", result: { item_id: "row-1" } });
  },
);

it("a key that JSON has to escape is not repeated either", async () => {
  const apiKey = 'sk-"quoted\\secret"';
  await using endpoint = await endpointOf({
    "row-1": ({ response }) => response.writeHead(400).end(JSON.stringify({ error: { message: apiKey } })),
    "row-2": ({ response, itemId, jobId, request }) =>
      answerWith(
        response,
        itemId,
        request === 1
          ? [
              {
                type: "function_call",
                call_id: "c",
                name: "report_agent_job_result",
                arguments: JSON.stringify({ job_id: jobId, item_id: itemId, result: { said: apiKey } }),
              },
            ]
          : [message("m", apiKey)],
      ),
  });
  const { records } = await runAgents(endpoint, ["row-1", "row-2"], { model: { apiKey } });
  expect(records["row-1"]?.error).toBe("the endpoint answered 400: [key]");
  expect(records["row-2"]?.result).toEqual({ said: "[key]" });
});

it("a redirect to another origin does not take the key along", async () => {
  const keys: (string | undefined)[] = [];
  await using other = await ResponsesEndpoint.start((_asked, response, request) => {
    keys.push(request.headers.authorization);
    response.writeHead(400).end("{}");
  });
  await using endpoint = await endpointOf({
    "row-1": ({ response }) => response.writeHead(307, { location: `${other.baseUrl}/responses` }).end(),
  });
  await runAgents(endpoint, ["row-1"]);
  expect(keys).toEqual([undefined]);
});
