import * as z from "zod";

/**
 * Group of a method, named in the gate errors of the handshake:
 * `client must call initialize before using FAMILY methods`. `null` is `initialize` itself, which has no gate.
 */
export type Family =
  | "exec"
  | "filesystem"
  | "http"
  | "tcp"
  | "environment info"
  | "environment status"
  | "environment config"
  | "capability discovery";

/**
 * The right that a method requires. `session` and `info` are for everyone; `settings` reads Codex's configuration on
 * the machine, `discovery` what it offers to agents; `operate` sees the figures of all clients, `audit` what they did;
 * `manage` changes what the server as a whole does.
 */
export type Right =
  | "session"
  | "info"
  | "settings"
  | "discovery"
  | "readFiles"
  | "writeFiles"
  | "start"
  | "control"
  | "follow"
  | "network"
  | "operate"
  | "audit"
  | "manage";

/** Meaning of a lost answer to a request if the session continues. */
export type LostAnswer =
  /** The request is idempotent and may be repeated. */
  | "repeat"
  /**
   * It opened something that ended with the connection. The bridge, whose client does not know of another connection,
   * opens it again.
   */
  | "opened"
  /** It affected only state of the connection, and ended with it. */
  | "ended"
  /** Its effect is unknown, and it is not idempotent. */
  | "unknown";

/** Defers building a schema to its first use. Building all of them would slow server start by a third. */
export function schema<T>(build: () => T): () => T {
  let built: T | undefined;
  return () => (built ??= build());
}

/** The same for an object with these members. */
export function object<Shape extends z.ZodRawShape>(members: () => Shape): () => z.ZodObject<Shape> {
  return schema(() => z.object(members()) as z.ZodObject<Shape>);
}

/** Type of the values that a schema describes. */
export type Infer<S extends () => z.ZodType> = z.infer<ReturnType<S>>;

/** One request of the wire: purpose, parameters and result. */
export interface Method<P extends z.ZodType = z.ZodType, R extends z.ZodType = z.ZodType>
  extends MethodFacts {
  readonly params: P;
  readonly result: R;
}

interface MethodFacts<Param = string> {
  readonly doc: string;
  readonly family: Family | null;
  readonly right: Right;
  /** A further right, if the parameter has this value. */
  readonly alsoNeeds?: { readonly param: Param; readonly is: string; readonly right: Right };
  /**
   * What it means if the answer is lost with the connection. A request that may meet its own effect is repeated only if
   * a parameter is set (true, or a string): a plain `createDirectory` would find its directory, and a start its
   * process.
   */
  readonly lost: LostAnswer | { readonly repeatWith: Param; readonly otherwise: LostAnswer };
  /**
   * Whether a server that does not answer promptly has failed. Eventually: the request waits for something, or moves
   * data; `promptlyUnless` names the parameter that makes it wait.
   */
  readonly answers: "promptly" | "eventually" | { readonly promptlyUnless: Param };
  /** Control methods have their own lane when a server runs requests concurrently. */
  readonly lane?: "control";
  /**
   * Requests about one process keep their order. This parameter names the process; all `v0` requests count as one
   * process.
   */
  readonly ordered?: Param | "v0";
  /**
   * Passes queued requests about other things, such as long file work: always, or if the client asked for it in
   * `initialize`.
   */
  readonly overtakes?: "always" | "urgentInput";
  /** True for methods of this server that are not part of Codex. */
  readonly extension?: true;
  /** Parameters that this server adds to a Codex method, which Codex ignores, or added to its own methods later. */
  readonly extensionParams?: readonly Param[];
}

/** Marks a field that this server adds to a Codex result or notification. */
export function extensionField<T extends z.ZodType>(schema: T): T {
  return schema.meta({ ...schema.meta(), extension: true });
}

export interface Notification<P extends z.ZodType = z.ZodType> extends NotificationFacts {
  readonly params: P;
}

interface NotificationFacts {
  readonly doc: string;
  readonly from: "client" | "server";
  /** See `Method.extension`. */
  readonly extension?: true;
}

/** A schema, or the members of an object. */
type Described = z.ZodType | z.ZodRawShape;

type SchemaOf<D extends Described> = D extends z.ZodType
  ? D
  : D extends z.ZodRawShape
    ? z.ZodObject<D>
    : never;

/** Facts of an entry besides its schemas. Facts that name a parameter are checked against the entry's own. */
type Facts<P extends Described> = MethodFacts<keyof z.infer<SchemaOf<P>> & string>;

interface Schemas<P extends Described, R extends Described> {
  readonly params: () => P;
  readonly result: () => R;
}

/** Builds the schema at its first use. */
function schemaOf<D extends Described>(describe: () => D): () => SchemaOf<D> {
  return schema(() => {
    const described = describe();
    return (described instanceof z.ZodType ? described : z.object(described)) as SchemaOf<D>;
  });
}

/** One entry of the table, with the exact types of its schemas. */
export function method<P extends Described, R extends Described>(
  definition: Facts<P> & Schemas<P, R>,
): Method<SchemaOf<P>, SchemaOf<R>> {
  const params = schemaOf(definition.params);
  const result = schemaOf(definition.result);
  return {
    ...definition,
    get params() {
      return params();
    },
    get result() {
      return result();
    },
  };
}

/** Defines entries that have these facts in common. An entry's own facts take precedence. */
export function methodsWith<Common extends Partial<MethodFacts<never>>>(common: Common) {
  return <P extends Described, R extends Described>(
    definition: Omit<Facts<P>, keyof Common> & Partial<Facts<P>> & Schemas<P, R>,
  ): Method<SchemaOf<P>, SchemaOf<R>> => method({ ...common, ...definition } as Facts<P> & Schemas<P, R>);
}

export function notification<P extends Described>(
  definition: NotificationFacts & { readonly params: () => P },
): Notification<SchemaOf<P>> {
  const params = schemaOf(definition.params);
  return {
    ...definition,
    get params() {
      return params();
    },
  };
}
