import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { findCodexBinary } from "../../scripts/install-codex.mjs";
import { SERVER_PATH } from "../conformance/server-process.ts";
import { withDeadline } from "../fault/deadline.ts";

const RUN_DEADLINE_MS = 150_000;

/** Where the client runs commands: a URL or others in its environment, or entries of its environments file. */
export type Environment =
  | { readonly url: string }
  | { readonly variables: Readonly<Record<string, string>> }
  | { readonly toml: string };

export interface CodexOptions {
  /** An empty directory for everything the client keeps. */
  readonly home: string;
  readonly workspace: string;
  readonly modelOrigin: string;
  readonly environment: Environment;
  /** The model's name: one the client knows decides which tools are offered; an unknown one gets the plain set. */
  readonly model?: string;
  /** Tables added to the client's configuration. */
  readonly config?: string;
  readonly env?: Record<string, string>;
  /** What commands and patches may do. Default: everything. */
  readonly sandbox?: "read-only" | "workspace-write";
  /** In the sandbox `workspace-write`, the client has the model review requests for more rights. */
  readonly reviewed?: boolean;
}

export interface CodexExit {
  readonly code: number | null;
  /** The output of `--json`. */
  readonly events: readonly { readonly type: string }[];
  readonly stderr: string;
}

/** Runs the real client for one turn. It is killed when it does not end in time. */
export async function runCodex(options: CodexOptions): Promise<CodexExit> {
  const { home, workspace, modelOrigin, environment } = options;
  const binary = findCodexBinary();
  if (binary === undefined) throw new Error("no codex binary; run `node scripts/install-codex.mjs`");
  const codexHome = join(home, ".codex");
  const temporary = join(home, "tmp");
  await Promise.all([codexHome, temporary].map((path) => mkdir(path)));
  await writeFile(join(codexHome, "config.toml"), configuration(options));
  if ("toml" in environment) await writeFile(join(codexHome, "environments.toml"), environment.toml);
  const child = spawn(
    binary,
    ["exec", "--skip-git-repo-check", "--json", ...rights(options), "-C", workspace, "go"],
    {
      cwd: workspace,
      env: {
        PATH: SERVER_PATH,
        HOME: home,
        CODEX_HOME: codexHome,
        TMPDIR: temporary,
        // Requests that leave the machine go to the model's server, which reports and refuses them.
        HTTPS_PROXY: modelOrigin,
        HTTP_PROXY: modelOrigin,
        NO_PROXY: "127.0.0.1",
        ...("url" in environment ? { CODEX_EXEC_SERVER_URL: environment.url } : {}),
        ...("variables" in environment ? environment.variables : {}),
        ...options.env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const killWithUs = () => child.kill("SIGKILL");
  process.once("exit", killWithUs);
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  try {
    const [code, stdout, stderr] = await withDeadline(
      Promise.all([exited, text(child.stdout), text(child.stderr)]),
      RUN_DEADLINE_MS,
      () => "the end of codex exec",
    );
    const events = stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { type: string });
    return { code, events, stderr };
  } finally {
    process.removeListener("exit", killWithUs);
    child.kill("SIGKILL");
    await exited;
  }
}

/** TOML's basic strings are JSON's, but for characters that do not occur here. */
export const toml = (value: string | readonly string[]): string => JSON.stringify(value);

// Without these two switches the client looks for chatgpt.com and api.github.com.
const configuration = ({ modelOrigin, model = "scripted", config = "" }: CodexOptions): string => `
model = ${toml(model)}
model_provider = "mock"
[model_providers.mock]
name = "mock"
base_url = ${toml(`${modelOrigin}/v1`)}
wire_api = "responses"
[analytics]
enabled = false
[features]
plugins = false
${config}
`;

function rights({ sandbox, reviewed }: CodexOptions): readonly string[] {
  if (reviewed === true) return ["--approve-for-me"];
  return sandbox === undefined ? ["--dangerously-bypass-approvals-and-sandbox"] : ["--sandbox", sandbox];
}
