/** The ways out that are tried. */
export type AttemptClass =
  | "paths"
  | "symbolic links"
  | "hard links"
  | "renames"
  | "/proc"
  | "/sys"
  | "devices"
  | "mounts"
  | "namespaces"
  | "other processes"
  | "shared memory and keys"
  | "unix sockets"
  | "set-user-id and capabilities"
  | "inherited descriptors"
  | "environment"
  | "file calls"
  | "terminals"
  | "survivors"
  | "network"
  | "managed network"
  | "kernel interfaces"
  | "other entry points"
  | "the server";

/**
 * How an escape is recognised. Where it can, an attempt shows a real effect outside; `claim` is for calls whose success
 * is the finding.
 * - `secret`: the output contains the secret that is kept outside;
 * - `change`: something that must stay as it is has changed;
 * - `message`: someone outside has received the id of the attempt;
 * - `claim`: the attempt says so;
 * - `survival`: a file that is written after the process is over.
 */
export type Proof = "secret" | "change" | "message" | "claim" | "survival";

/** Something that a sandboxed process tries. It finds its targets in environment variables: `variablesOf`. */
export interface Attempt {
  readonly name: string;
  readonly class: AttemptClass;
  readonly proof: Proof;
  /** What is run: a shell script, a Perl script with `prelude`, or several of them one after another. */
  readonly steps: readonly Step[];
  /** Network access inside. Default: none. */
  readonly network?: "enabled";
  /** Rules of the proxy that is all the process can reach. Default: no proxy. */
  readonly proxy?: ProxyRules;
  readonly tty?: true;
  /** Which server the process is started on, if it matters. Default: one on a TCP port, without a token. */
  readonly server?: "token" | "unix";
  /** Variables in addition to those of every attempt; `$NAME` stands for one of those. */
  readonly env?: Readonly<Record<string, string>>;
  /** What someone outside receives, if it is not the id. */
  readonly message?: string;
  /** Why a kernel may not have what is tried here. Without it, the attempt must succeed outside. */
  readonly mayBeUnavailable?: string;
  /** The real Codex server lets this one through, or does if the time is right. */
  readonly onCodex?: "escapes" | "may escape";
}

export interface ProxyRules {
  readonly domains: Readonly<Record<string, "allow" | "deny">>;
  readonly allowLocalBinding: boolean;
}

export type Step = ProcessStep | CallStep | BystanderStep;

/** Runs in the sandbox. */
export type ProcessStep =
  | { readonly sh: string }
  | { readonly perl: string }
  | { readonly argv: readonly string[] };

/** A call on files under the sandbox. Paths are native, and `$NAME` stands for a variable of the attempt. */
export interface CallStep {
  readonly method: string;
  readonly paths: Readonly<Record<string, string>>;
  readonly params?: object;
}

/** What a bystander does outside meanwhile: a shell script. */
interface BystanderStep {
  readonly outside: string;
}

type Details = Omit<Attempt, "name" | "class" | "proof" | "steps">;

/** Attempts of one class, written as a table. */
export function attemptsOf(
  attemptClass: AttemptClass,
  rows: readonly (readonly [name: string, proof: Proof, steps: Step | readonly Step[], details?: Details])[],
): readonly Attempt[] {
  return rows.map(([name, proof, steps, details]) => ({
    name,
    class: attemptClass,
    proof,
    steps: Array.isArray(steps) ? (steps as readonly Step[]) : [steps as Step],
    ...details,
  }));
}

export const sh = (text: string): Step => ({ sh: text });
export const perl = (text: string): Step => ({ perl: text });
export const call = (method: string, paths: CallStep["paths"], params: object = {}): Step => ({
  method,
  paths,
  params,
});
export const outside = (text: string): Step => ({ outside: text });
