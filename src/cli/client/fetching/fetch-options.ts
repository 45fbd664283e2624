import type { TargetOptions } from "../target/target-options.ts";

/** What the command line says about a request. */
export interface FetchOptions extends TargetOptions {
  readonly request?: string;
  readonly header?: readonly string[];
  readonly data?: string;
  readonly output?: string;
  readonly include?: boolean;
  readonly head?: boolean;
  readonly location?: boolean;
  readonly fail?: boolean;
  readonly json?: boolean;
}
