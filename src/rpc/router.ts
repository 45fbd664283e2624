import { defined } from "../base/defined.ts";
import { RpcError } from "../base/errors.ts";
import { shorten } from "../base/shorten.ts";
import {
  type Family,
  type Method,
  type MethodName,
  methods,
  type Params,
  type Result,
  RpcCode,
} from "../protocol/index.ts";
import { describeIssue } from "./describe-issue.ts";
import type { Attachment } from "./incoming-request.ts";
import type { JsonText, JsonParts } from "./json-text.ts";
import type { LazyAnswer, DeferredAnswer } from "./deferred-answer.ts";

type Answer<T> = T | JsonText | JsonParts;

/** Result of a handler: a value, a promise that later requests wait for, or one that they do not wait for. */
export type HandlerResult<T> = Answer<T> | Later<T> | Promise<Answer<T> | Later<T>>;

type Later<T> = DeferredAnswer<Answer<T> | LazyAnswer<Answer<T>>>;

/** One function per method. A method without a handler is answered like an unknown method. */
export type Handlers<Context> = {
  readonly [M in MethodName]?: (
    context: Context,
    params: Params<M>,
    attachment?: Attachment,
  ) => HandlerResult<Result<M>>;
};

type Run<Context> = (context: Context, params: unknown, attachment?: Attachment) => HandlerResult<unknown>;

type Call<Context> = (
  context: Context,
  params: unknown,
  attachment: Attachment | undefined,
  watch: CallWatch | undefined,
) => HandlerResult<unknown>;

/** Follows one request. */
export interface CallWatch {
  /** The request has passed every check, and its handler runs next. Throws to refuse it all the same. */
  allowed(params: unknown, attachment: Attachment | undefined): void;
}

/** A method that is served. */
export interface Route<Context> extends Precedence {
  readonly name: MethodName;
  /** Throws an RpcError for invalid parameters, a closed gate or a missing right, in this order. */
  readonly call: Call<Context>;
}

/** A request that is about to be handled. Its parameters are those that the handler gets. */
export interface CheckedRequest {
  readonly name: string;
  readonly definition: Pick<Method, "right" | "alsoNeeds">;
  readonly params: unknown;
}

/** What every request has to pass before its handler is called. */
interface Admission<Context> {
  /** Throws if the peer may not use that family of methods yet. */
  readonly gate: (context: Context, family: Family) => void;
  /** Throws if the peer may not make that request. */
  readonly authorize: (context: Context, request: CheckedRequest) => void;
}

/** Determines which requests a method may pass. */
export type Precedence = Pick<Method, "lane" | "ordered" | "overtakes">;

const NONE: Precedence = {};

/** Looks up, validates and calls handlers. The only place where the table's types are erased. */
export class Router<Context> {
  readonly #routes = new Map<string, Route<Context>>();

  constructor(handlers: Handlers<Context>, { gate, authorize }: Admission<Context>) {
    for (const [name, handler] of Object.entries(handlers)) {
      const definition: Method = methods[name as MethodName];
      const { lane, ordered, overtakes } = definition;
      // The handler's parameter type comes from this schema, which `parse` applies.
      const run = handler as Run<Context>;
      this.#routes.set(name, {
        name: name as MethodName,
        ...defined({ lane, ordered, overtakes }),
        call: (context, params, attachment, watch) => {
          const checked = parse(definition, name, params);
          if (definition.family !== null) gate(context, definition.family);
          authorize(context, { name, definition, params: checked });
          watch?.allowed(checked, attachment);
          return run(context, checked, attachment);
        },
      });
    }
  }

  /** Empty for a method that is not served. */
  precedenceOf(name: string): Precedence {
    return this.#routes.get(name) ?? NONE;
  }

  /** Undefined for a method that is not served, which `unknownMethod` answers. */
  find(name: string): Route<Context> | undefined {
    return this.#routes.get(name);
  }
}

export function unknownMethod(name: string): RpcError {
  return new RpcError(RpcCode.methodNotFound, `exec-server stub does not implement \`${shorten(name)}\` yet`);
}

/**
 * Reports only the first fault: finding all of a hundred thousand would hold up everyone. zod copies it for each call and
 * sets `async`: without that member here, the copy takes 1.6 us on Node 20 instead of 0.05.
 */
const FIRST_FAULT = { async: false, abortEarly: true, reportInput: false } as const;

function parse(definition: Method, name: string, params: unknown): unknown {
  const parsed = definition.params.safeParse(params, FIRST_FAULT);
  if (parsed.success) return parsed.data;
  throw new RpcError(RpcCode.invalidParams, describeIssue(parsed.error, params, name));
}
