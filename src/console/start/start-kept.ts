import { ExecError, type Host, type SandboxPreset, SpawnError } from "../../client/browser.ts";
import { describeError } from "../connection/describe-error.ts";
import { visibleText } from "../../base/visible-text.ts";
import type { Variable } from "./environment-rows.tsx";

export interface KeptStart {
  readonly name: string;
  /** Takes the place of one that has ended. */
  readonly replaces: boolean;
  readonly cwd: string;
  readonly isTerminal: boolean;
  readonly takesInput: boolean;
  readonly variables: readonly Variable[];
  /** Empty for none. */
  readonly sandbox: string;
}

/** What is wrong with which field. */
export interface StartFaults {
  readonly command?: string | undefined;
  readonly name?: string | undefined;
  readonly cwd?: string | undefined;
  readonly environment?: string | undefined;
  readonly other?: unknown;
}

/** Starts a process that goes on without this page. */
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

/** What is wrong with variables before they are sent; undefined if nothing is. */
export function faultOfVariables(variables: readonly Variable[]): string | undefined {
  if (variables.some(({ name, value }) => name === "" && value !== ""))
    return "Give each variable a name, or remove its row.";
  const odd = variables.find(({ name }) => name.includes("="));
  return odd === undefined
    ? undefined
    : `The name ${visibleText(odd.name)} has an equals sign. Put what follows it into the value.`;
}

/** Which field an error is about. */
export function faultsOfStart(error: unknown): StartFaults {
  const { text, remedy } = describeError(error);
  const words = remedy === undefined ? text : `${text} ${remedy}`;
  if (error instanceof SpawnError && (error.reason === "notFound" || error.reason === "notExecutable"))
    return { command: words };
  if (error instanceof SpawnError && error.reason === "noSuchDirectory") return { cwd: words };
  if (error instanceof ExecError && error.code === "ALREADY_EXISTS") return { name: words };
  return { other: error };
}
