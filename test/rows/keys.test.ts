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

it("a redirect to another origin gets neither the key nor the conversation", async () => {
  let asked = 0;
  await using other = await ResponsesEndpoint.start((_asked, response) => {
    asked += 1;
    response.writeHead(400).end("{}");
  });
  await using endpoint = await endpointOf({
    "row-1": ({ response }) => response.writeHead(307, { location: `${other.baseUrl}/responses` }).end(),
  });
  const { summary } = await runAgents(endpoint, ["row-1"]);
  expect(summary.reason).toContain(`the endpoint redirects to ${new URL(other.baseUrl).origin}`);
  expect(asked).toBe(0);
});
