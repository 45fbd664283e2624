// Codex's own client on Codex's own server, directly or through a relay: a model plays a script that works and takes the
// time. One run of the client for each figure.
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { findCodexBinary } from "../../scripts/install-codex.mjs";
import { answerWith, message, ResponsesEndpoint } from "../../test/fixtures/scripted-model.mjs";
import { withDeadline } from "../waiting.mjs";
import { startExecutor, startServer } from "./ways.mjs";

/** A model that the client knows, and lets write scripts that call its tools. */
const MODEL = "gpt-6.1-sol";
const DEADLINE_MS = 120_000;
const SCRIPTS = {
  start: (count) => `for (let i = 0; i < ${count}; i += 1) await tools.exec_command({ cmd: "true" });`,
  output: (bytes) =>
    `await tools.exec_command({ cmd: "head -c ${bytes} /dev/zero", yield_time_ms: 30000, max_output_tokens: 1 });`,
};
/** Milliseconds for each start, or megabytes each second. */
const FIGURES = {
  start: (ms, count) => ms / count,
  output: (ms, bytes) => bytes / 1_000 / ms,
};

/** Resolves with `{way, measure(work, size), stop()}`. Without a relay, the way is direct. */
export async function openRealWay(base) {
  const server = base === undefined ? await startServer("codex") : await startExecutor("codex", base, "real");
  const environment =
    base === undefined
      ? { CODEX_EXEC_SERVER_URL: server.target }
      : {
          CODEX_EXEC_SERVER_NOISE_REGISTRY_URL: base,
          CODEX_EXEC_SERVER_NOISE_ENVIRONMENT_ID: "real",
          CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: "unused",
          CODEX_EXEC_SERVER_NOISE_CHATGPT_ACCOUNT_ID: "nobody",
        };
  const measure = async (work, size) => {
    const script = `const begun = Date.now(); ${SCRIPTS[work](size)} text("took " + (Date.now() - begun));`;
    const output = await play(script, environment);
    const [, ms] = /took (\d+)/.exec(output) ?? [];
    if (ms === undefined) throw new Error(`the client said: ${output}`);
    return FIGURES[work](Number(ms), size);
  };
  return { way: base === undefined ? "real direct" : "real relay", measure, stop: server.stop };
}

/** What the client tells the model about a script. */
async function play(script, environment) {
  const home = await mkdtemp("/var/tmp/exec-server-bench-");
  let said = "";
  const endpoint = await ResponsesEndpoint.start(({ input }, response) => {
    said = JSON.stringify(input.at(-1)?.output ?? "");
    const isFirst = endpoint.requests.length === 1;
    const call = { type: "custom_tool_call", name: "exec", input: script, id: "item-1", call_id: "call-1" };
    answerWith(response, String(endpoint.requests.length), isFirst ? [call] : [message("last", "done")]);
  });
  try {
    await Promise.all(["codex", "work"].map((name) => mkdir(join(home, name))));
    const provider = `name = "bench"\nbase_url = "${endpoint.baseUrl}"\nwire_api = "responses"\n`;
    const config = `model = "${MODEL}"\nmodel_provider = "bench"\n[model_providers.bench]\n${provider}[analytics]\nenabled = false\n[features]\nplugins = false\n`;
    await writeFile(join(home, "codex", "config.toml"), config);
    const rights = "--dangerously-bypass-approvals-and-sandbox";
    const child = spawn(
      findCodexBinary(),
      ["exec", "--skip-git-repo-check", rights, "-C", join(home, "work"), "go"],
      {
        env: {
          PATH: process.env.PATH,
          HOME: home,
          CODEX_HOME: join(home, "codex"),
          HTTP_PROXY: endpoint.origin,
          HTTPS_PROXY: endpoint.origin,
          NO_PROXY: "127.0.0.1",
          ...environment,
        },
        stdio: ["ignore", "ignore", "pipe"],
      },
    );
    const ended = new Promise((resolve) => child.once("close", resolve));
    try {
      const complaints = text(child.stderr);
      await withDeadline(ended, "the end of codex exec", DEADLINE_MS);
      return said === '""' ? await complaints : said;
    } finally {
      child.kill("SIGKILL");
    }
  } finally {
    await endpoint[Symbol.asyncDispose]();
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }
}
