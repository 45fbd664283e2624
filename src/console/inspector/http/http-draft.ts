import { signal } from "@preact/signals";
import type { CopiedHttpRequest } from "../copy-code.ts";
import { HttpCall } from "./http-call.ts";

/** What a person has entered. */
export interface HttpDraft {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly body: string;
  readonly redirect: "follow" | "manual";
  readonly timeout: string;
}

export const EMPTY_REQUEST: HttpDraft = {
  method: "GET",
  url: "",
  headers: [],
  body: "",
  redirect: "follow",
  timeout: "",
};

/** For as long as the page is open. */
export const httpDraft = signal(EMPTY_REQUEST);
export const httpCall = new HttpCall();

export function requestOf({ method, url, headers, body, redirect, timeout }: HttpDraft): CopiedHttpRequest {
  const hasBody = method !== "GET" && method !== "HEAD" && body !== "";
  return {
    method,
    url,
    headers: headers.filter(({ name }) => name !== "").map(({ name, value }) => [name, value]),
    body: hasBody ? body : undefined,
    redirect,
    timeoutMs: /^\d+$/.test(timeout) ? Number(timeout) : undefined,
  };
}

export function urlProblem(url: string): string | undefined {
  if (!URL.canParse(url)) return "Give a whole URL, such as http://127.0.0.1:8080/.";
  return /^https?:$/.test(new URL(url).protocol) ? undefined : "Only http and https can be requested.";
}
