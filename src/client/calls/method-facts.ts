import type { LostAnswer, MethodName } from "../../protocol/index.ts";
import type { MethodFacts } from "./wire-shape.ts";
import { methodFacts } from "./wire-shapes.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Meaning of a lost answer to a call. An unknown method may have had any effect. */
export function lostAnswer(method: string, params: unknown): LostAnswer {
  const lost = factsOf(method)?.lost ?? "unknown";
  if (typeof lost === "string") return lost;
  const value = ((params ?? {}) as Fields)[lost.repeatWith];
  return value === true || typeof value === "string" ? "repeat" : lost.otherwise;
}

/** Whether a server that does not answer this call promptly has failed. */
export function isPrompt(method: string, params: unknown): boolean {
  const answers = factsOf(method)?.answers ?? "eventually";
  if (typeof answers === "string") return answers === "promptly";
  return !((params ?? {}) as Fields)[answers.promptlyUnless];
}

export function isSandboxed(method: string): boolean {
  return factsOf(method)?.sandboxed === true;
}

/** Undefined for a method outside the table. */
export function factsOf(method: string): MethodFacts | undefined {
  return Object.hasOwn(methodFacts, method) ? methodFacts[method as MethodName] : undefined;
}
