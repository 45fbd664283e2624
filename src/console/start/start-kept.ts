import { ExecError, type Host, type SandboxPreset, SpawnError } from "../../client/browser.ts";
import { describeError } from "../connection/describe-error.ts";
import { visibleText } from "../../base/visible-text.ts";
import type { Variable } from "./environment-rows.tsx";
import type { PastStart } from "./history.ts";

export interface KeptStart extends Omit<PastStart, "line"> {
  readonly name: string;
  /** Takes the place of one that has ended. */
  readonly replaces: boolean;
  readonly variables: readonly Variable[];
}

/** Problems by field. */
export interface StartFaults {
  readonly command?: string | undefined;
  readonly name?: string | undefined;
  readonly cwd?: string | undefined;
  readonly environment?: string | undefined;
  readonly other?: unknown;
}

/** Starts a process that outlives this page. */
export async function startKept(host: Host, argv: readonly string[], start: KeptStart): Promise<void> {
  const { name, replaces, cwd, isTerminal, takesInput, variables, sandbox } = start;
  const named = variables.filter((variable) => variable.name !== "");
  const options = {
    cwd,
    keep: { name, replace: replaces },
    env: Object.fromEntries(named.map((variable) => [variable.name, variable.value])),
    ...(sandbox === "" ? {} : { sandbox: sandbox as SandboxPreset }),
  };
  const process = isTerminal
    ? await host.terminal(argv, { ...options, cols: 80, rows: 24 })
    : await host.start(argv, { ...options, stdin: takesInput ? "pipe" : "none" });
  // Whatever shows it attaches by itself.
  await process.detach();
}

/** Problem with variables before they are sent; undefined if there is none. */
export function faultOfVariables(variables: readonly Variable[]): string | undefined {
  if (variables.some(({ name, value }) => name === "" && value !== ""))
    return "Enter a name for each variable, or remove its row.";
  const odd = variables.find(({ name }) => name.includes("="));
  return odd === undefined
    ? undefined
    : `The name ${visibleText(odd.name)} has an equals sign. Put what follows it into the value.`;
}

/** The field that an error is about. */
export function faultsOfStart(error: unknown): StartFaults {
  const { text, remedy } = describeError(error);
  const words = remedy === undefined ? text : `${text} ${remedy}`;
  if (error instanceof SpawnError && (error.reason === "notFound" || error.reason === "notExecutable"))
    return { command: words };
  if (error instanceof SpawnError && error.reason === "noSuchDirectory") return { cwd: words };
  if (error instanceof ExecError && error.code === "ALREADY_EXISTS") return { name: words };
  return { other: error };
}
