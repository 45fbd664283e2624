import { Base64Bytes } from "../../base/base64-bytes.ts";
import { ProtocolError } from "../../base/errors.ts";
import type {
  MethodName,
  NotificationParams,
  Result,
  ServerMethodName,
  ServerParams,
} from "../../protocol/index.ts";
import type { Scalar, Shape } from "./wire-shape.ts";
import { factsOf } from "./method-facts.ts";
import { notificationShapes, requestShapes } from "./wire-shapes.ts";

// Checks what servers send against the wire table. The table is plain data here, because the schema library would be
// most of a web page's bundle.

/** Notifications that a client reads. */
export type ReadNotification = keyof typeof notificationShapes;

const MAX_U64 = 2 ** 64;
const SCALARS: Readonly<Record<Scalar, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string" || value instanceof Base64Bytes,
  boolean: (value) => typeof value === "boolean",
  number: Number.isFinite,
  amount: (value) => Number.isFinite(value) && (value as number) >= 0,
  integer: Number.isSafeInteger,
  unsigned: (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_U64,
  // Beyond the safe integers, there is no next number.
  seq: (value) => Number.isSafeInteger(value) && (value as number) >= 1,
  true: (value) => value === true,
};
const WANTED: Readonly<Record<Scalar, string>> = {
  string: "a string",
  boolean: "true or false",
  number: "a number",
  amount: "a number of at least 0",
  integer: "a whole number",
  unsigned: "a whole number of at least 0",
  seq: "a whole number of at least 1",
  true: "true",
};

/** Returns the value with only the members that its shape knows. Throws a Misfit. */
type Check = (value: unknown) => unknown;

/** Built on first use: a page that runs one command needs few. */
const checks = new Map<Shape, Check>();

/**
 * Checks an answer against its method: correct types, and no members outside the table. Throws a ProtocolError for
 * anything else.
 */
export function checkedResult<M extends MethodName>(method: M, result: unknown): Result<M> {
  const shape = factsOf(method)?.result;
  // Programs may call methods outside the table, whose answers cannot be checked.
  if (shape === undefined) return result as Result<M>;
  return checked(shape, result, `the answer to ${method} does`) as Result<M>;
}

/** The same for the params of a notification. */
export function checkedParams<N extends ReadNotification>(method: N, params: unknown): NotificationParams<N> {
  const what = `exec-server notification handling failed: the parameters of ${method} do`;
  return checked(notificationShapes[method], params, what) as NotificationParams<N>;
}

/** The same for the params of a server's request. */
export function checkedRequest<M extends ServerMethodName>(method: M, params: unknown): ServerParams<M> {
  return checked(requestShapes[method], params, `the parameters of ${method} do`) as ServerParams<M>;
}

function checked(shape: Shape, value: unknown, what: string): unknown {
  let check = checks.get(shape);
  if (check === undefined) {
    check = checkOf(shape);
    checks.set(shape, check);
  }
  try {
    return check(value);
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    throw new ProtocolError(`${what} not fit the protocol: ${error.describe()}`);
  }
}

/** The position at which a value does not match its shape. */
class Mismatch extends Error {
  readonly #path: (string | number)[] = [];
  readonly #wanted: string;
  readonly #actual: unknown;

  constructor(wanted: string, actual: unknown) {
    super();
    this.#wanted = wanted;
    this.#actual = actual;
  }

  within(key: string | number): this {
    this.#path.unshift(key);
    return this;
  }

  describe(): string {
    const path = this.#path.length === 0 ? "it" : this.#path.join(".");
    if (this.#actual === undefined) return `${path} is missing`;
    return `${path} must be ${this.#wanted}, not ${kindOf(this.#actual)}`;
  }
}

function checkOf(shape: Shape): Check {
  if (typeof shape === "string") return scalarCheck(shape);
  if (!isTuple(shape)) return objectCheck(shape);
  switch (shape[0]) {
    case "nullable": {
      const check = checkOf(shape[1]);
      return (value) => (value === null || value === undefined ? null : check(value));
    }
    case "array":
      return arrayCheck(checkOf(shape[1]));
    case "enum":
      return (value) => {
        if (isOneOf(shape, value)) return value;
        throw new Mismatch(`one of ${shape.slice(1).join(", ")}`, value);
      };
  }
}

function isTuple(shape: Exclude<Shape, Scalar>): shape is Extract<Shape, readonly unknown[]> {
  return Array.isArray(shape);
}

function isOneOf(shape: readonly string[], value: unknown): boolean {
  return typeof value === "string" && shape.indexOf(value, 1) > 0;
}

function scalarCheck(shape: Scalar): Check {
  const fits = SCALARS[shape];
  return (value) => {
    if (fits(value)) return value;
    throw new Mismatch(WANTED[shape], value);
  };
}

function arrayCheck(check: Check): Check {
  return (value) => {
    if (!Array.isArray(value)) throw new Mismatch("a list", value);
    const fitted: unknown[] = [];
    try {
      for (const item of value) fitted.push(check(item));
    } catch (error) {
      throw error instanceof Mismatch ? error.within(fitted.length) : error;
    }
    return fitted;
  };
}

function objectCheck(shape: Readonly<Record<string, Shape>>): Check {
  const members = Object.entries(shape).map(memberOf);
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new Mismatch("an object", value);
    const fitted: Record<string, unknown> = {};
    for (const { name, check, isOptional } of members) {
      const member = (value as Readonly<Record<string, unknown>>)[name];
      if (member === undefined && isOptional) continue;
      try {
        const checkedMember = check(member);
        if (checkedMember !== undefined) fitted[name] = checkedMember;
      } catch (error) {
        throw error instanceof Mismatch ? error.within(name) : error;
      }
    }
    return fitted;
  };
}

function memberOf([key, shape]: [string, Shape]) {
  const isOptional = key.endsWith("?");
  const check = checkOf(shape);
  return {
    name: isOptional ? key.slice(0, -1) : key,
    check: isOptional && isEnum(shape) ? lenient(shape, check) : check,
    isOptional,
  };
}

function isEnum(shape: Shape): shape is Extract<Shape, readonly ["enum", ...(readonly string[])]> {
  return Array.isArray(shape) && shape[0] === "enum";
}

/** Returns undefined for text that the enum does not have. */
function lenient(shape: readonly string[], check: Check): Check {
  return (value) => (typeof value === "string" && !isOneOf(shape, value) ? undefined : check(value));
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" ? "other text" : "an object";
}
