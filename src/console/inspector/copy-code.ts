import { isObject, type Json } from "./json-path.ts";

/** A request that can be written as code. */
export interface CopiedRequest {
  readonly method: string;
  readonly params: Json;
}

/** Connection target of the copied code. */
export interface CopiedTarget {
  /** A WebSocket URL. */
  readonly url: string;
  /** Whether the server requires a token from programs. */
  readonly needsToken: boolean;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** A TypeScript program that sends the request with the library, and prints the answer. */
export function requestCode({ method, params }: CopiedRequest, target: CopiedTarget): string {
  return program(target, [
    `const answer = await host.request(${JSON.stringify(method)}, ${literal(params, "  ")});`,
    "console.log(answer);",
  ]);
}

/** An HTTP request that can be written as code. */
export interface CopiedHttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | undefined;
  readonly redirect: "follow" | "manual";
  readonly timeoutMs: number | undefined;
}

/** A program that makes an HTTP request from the server's machine, and prints the response. */
export function httpCode(request: CopiedHttpRequest, target: CopiedTarget): string {
  const { method, url, headers, body, redirect, timeoutMs } = request;
  return program(target, [
    `const response = await host.fetch(${JSON.stringify(url)}, {`,
    `  method: ${JSON.stringify(method)},`,
    ...(headers.length === 0 ? [] : [`  headers: ${literal(headers, "    ")},`]),
    ...(body === undefined ? [] : [`  body: ${JSON.stringify(body)},`]),
    `  redirect: ${JSON.stringify(redirect)},`,
    ...(timeoutMs === undefined ? [] : [`  signal: AbortSignal.timeout(${timeoutMs}),`]),
    "});",
    "console.log(response.status, [...response.headers]);",
    "console.log(await response.text());",
  ]);
}

/** The message as it is on the wire. */
export function requestMessage({ method, params }: CopiedRequest): string {
  return JSON.stringify({ id: 1, method, params });
}

/** A program that does something with a host. */
function program({ url, needsToken }: CopiedTarget, body: readonly string[]): string {
  const options = needsToken ? ', { token: process.env["EXEC_SERVER_TOKEN"]! }' : "";
  return [
    'import { connect } from "exec-server";',
    "",
    `const host = await connect(${JSON.stringify(url)}${options});`,
    "try {",
    ...body.map((line) => `  ${line}`),
    "} finally {",
    "  await host.close();",
    "}",
    "",
  ].join("\n");
}

/** A value as an expression. JSON is TypeScript, but for one name: `__proto__` would set the prototype. */
function literal(value: Json, indent = ""): string {
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    if (value.every((item) => typeof item !== "object" || item === null) && value.length <= 8)
      return `[${value.map((item) => JSON.stringify(item)).join(", ")}]`;
    return `[\n${value.map((item) => `${inner}${literal(item, inner)},\n`).join("")}${indent}]`;
  }
  if (isObject(value)) {
    const entries = Object.entries(value);
    if (entries.length === 0) return "{}";
    const lines = entries.map(([name, each]) => `${inner}${propertyName(name)}: ${literal(each, inner)},\n`);
    return `{\n${lines.join("")}${indent}}`;
  }
  return JSON.stringify(value);
}

function propertyName(name: string): string {
  if (name === "__proto__") return '["__proto__"]';
  return IDENTIFIER.test(name) ? name : JSON.stringify(name);
}
