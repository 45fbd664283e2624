/**
 * What a value has to look like. In an object a name with `?` at its end may be absent. A nullable member may be too, and is null then: peers leave it out or
 * not, as they like. A name of an enum that is not known counts as absent where it may be, because a newer server may have more of them.
 */
export type Shape =
  | Scalar
  | readonly ["enum", ...(readonly string[])]
  | readonly ["array", Shape]
  | readonly ["nullable", Shape]
  | { readonly [member: string]: Shape };

/** A value without parts. */
export type Scalar = "string" | "boolean" | "number" | "integer" | "unsigned" | "seq" | "true";
