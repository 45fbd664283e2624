/** Members of a JSON object as text, each with a comma before it; empty if there are none. */
export type Members = string;

/**
 * What a line says. A function is called when lines are written, for many at once, which takes a fraction of the time.
 * What it reads must not change before.
 */
export type Facts = object | Members | (() => Members);

export function membersOf(facts: Facts): Members {
  if (typeof facts === "string") return facts;
  if (typeof facts === "function") return (facts as () => Members)();
  const text = JSON.stringify(facts);
  return text === "{}" ? "" : `,${text.slice(1, -1)}`;
}

/** As an object. */
export function plainFacts(facts: Facts): object {
  if (typeof facts === "object") return facts;
  return JSON.parse(`{${membersOf(facts).slice(1)}}`) as object;
}
