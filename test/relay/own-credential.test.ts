import { pathToFileURL } from "node:url";
import { tmpdir } from "node:os";
import { expect, it } from "vitest";
import { pollUntil } from "../fault/deadline.ts";
import { RelayProgram } from "./relay-program.ts";

const DEADLINE_MS = 20_000;
const EVERYTHING = { inherit: "all", ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] };
const START = {
  processId: "p",
  argv: ["sh", "-c", "echo $OTHER; env | grep CODEX_API_KEY; echo end"],
  cwd: pathToFileURL(tmpdir()).href,
  env: {},
  envPolicy: EVERYTHING,
  tty: false,
  arg0: null,
};

interface Message {
  readonly method?: string;
  readonly params?: { readonly chunk?: string };
}

it("no process inherits the API key that the executor registers with", async () => {
  await using relay = await RelayProgram.start();
  await relay.executor("ours", "x", { env: { CODEX_API_KEY: "the-key", OTHER: "there" } });
  const transport = await (await relay.reach("x"))();
  let output = "";
  transport.open({
    message: (text) => {
      const { method, params } = JSON.parse(text) as Message;
      if (method === "process/output") output += Buffer.from(params!.chunk!, "base64").toString();
    },
    drain: () => {},
    close: () => {},
  });
  const send = (message: object): void => transport.send(JSON.stringify(message));
  send({ id: 1, method: "initialize", params: { clientName: "test" } });
  send({ method: "initialized" });
  send({ id: 2, method: "process/start", params: START });
  await pollUntil(
    () => output.endsWith("end\n"),
    DEADLINE_MS,
    () => output,
  );
  expect(output).toBe("there\nend\n");
  transport.close();
});
