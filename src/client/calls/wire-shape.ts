import type { Method } from "../../protocol/index.ts";

/** Facts about a method that a client needs. */
export interface MethodFacts extends Pick<Method, "lost" | "answers"> {
  /** A method on files that takes a sandbox. A handle keeps the one it was opened with. */
  readonly sandboxed?: true;
  /** Shape of its result. */
  readonly result: Shape;
}

/**
 * The required form of a value. In an object, a name that ends with `?` is optional. A nullable member is optional too,
 * and is null if absent: peers may omit it. An unknown enum value counts as absent where that is allowed, because a
 * newer server may have more values.
 */
export type Shape =
  | Scalar
  | readonly ["enum", ...(readonly string[])]
  | readonly ["array", Shape]
  | readonly ["nullable", Shape]
  | { readonly [member: string]: Shape };

/** A value without parts. */
export type Scalar = "string" | "boolean" | "number" | "amount" | "integer" | "unsigned" | "seq" | "true";
