import type * as z from "zod";

/**
 * What a method belongs to. It names the gate errors of the handshake: `client must call initialize before
 * using FAMILY methods`. `null` is `initialize` itself, which has no gate.
 */
export type Family =
  | "exec"
  | "filesystem"
  | "http"
  | "environment info"
  | "environment status"
  | "environment config"
  | "capability discovery";

/** One request of the wire: what it is for, what it takes, what it answers. */
export interface Method<P extends z.ZodType = z.ZodType, R extends z.ZodType = z.ZodType> {
  readonly doc: string;
  readonly family: Family | null;
  readonly params: P;
  readonly result: R;
  /** Control calls have a lane of their own when a server runs requests concurrently. */
  readonly lane?: "control";
  /** True for our own methods, which a Codex peer neither sends nor serves. */
  readonly extension?: true;
}

/** Marks a field that this server adds to a method of Codex's, which ignores it. */
export function extensionField<T extends z.ZodType>(schema: T): T {
  return schema.meta({ ...schema.meta(), extension: true });
}

/** The names of the parameters that are marked so. */
export function extensionFields({ params }: Method): string[] {
  const shape = (params as Partial<z.ZodObject>).shape ?? {};
  return Object.keys(shape).filter((field) => (shape[field] as z.ZodType).meta()?.["extension"] === true);
}

export interface Notification<P extends z.ZodType = z.ZodType> {
  readonly doc: string;
  readonly from: "client" | "server";
  /** As for a method. */
  readonly extension?: true;
  readonly params: P;
}

/** Keeps the schemas' exact types, which an annotation would widen. */
export function method<P extends z.ZodType, R extends z.ZodType>(definition: Method<P, R>): Method<P, R> {
  return definition;
}

export function notification<P extends z.ZodType>(definition: Notification<P>): Notification<P> {
  return definition;
}
