import type { RequirementId } from "./requirements.ts";
import type { TargetInfo } from "./targets.ts";

/** Codex's executor resets a stream at once for what it answers, on other carriers, with an error of id -1. */
const RESETS: ReadonlySet<RequirementId> = new Set([
  "envelope.error:incomplete",
  "envelope.error:needs-error",
  "envelope.method:not-a-string",
  "envelope.notification:null-id",
  "envelope.response:needs-id",
  "id:above-i64",
  "id:below-i64",
  "id:float-spelling",
  "id:fraction",
  "id:null",
  "id:wrong-type",
  "json:batch",
  "json:depth-over-limit",
  "json:duplicate-key",
  "json:duplicate-key-escaped",
  "json:duplicate-key-nested",
  "json:not-an-object",
  "json:values-over-limit",
  "malformed:answer",
  "malformed:before-handshake",
  "malformed:byte-order-mark",
  "malformed:in-turn",
  "malformed:keeps-connection",
  "malformed:lone-surrogate",
  "malformed:syntax",
  "malformed:trailing-text",
  "trace:member-type",
  "trace:not-an-object",
]);

/** It also resets a stream on which more than 128 messages wait, and whether they do is a matter of time. */
const PIPELINES: ReadonlySet<RequirementId> = new Set([
  "order:answers",
  "order:as-if-sequential",
  "process.write:remembers-ids",
]);

const isCodexOverRelay = ({ kind, overRelay }: TargetInfo): boolean => kind === "codex" && overRelay === true;

/** What only a real executor behind a relay is known to do wrong. */
export function failureOverRelay(info: TargetInfo, id: RequirementId): { readonly note: string } | undefined {
  return isCodexOverRelay(info) && RESETS.has(id) ? { note: "resets the stream" } : undefined;
}

/** Whether a requirement says something about a target; most do. */
export function isTestable(info: TargetInfo, id: RequirementId): boolean {
  return !(isCodexOverRelay(info) && PIPELINES.has(id));
}
