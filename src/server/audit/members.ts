/** Members of a JSON object as text, each with a leading comma; empty without members. */
export type Members = string;

/**
 * Facts of a line. A function is called when lines are written, for many at once, which takes a fraction of the time.
 * The data it reads must not change before.
 */
export type Facts = object | Members | (() => Members);

export function membersOf(facts: Facts): Members {
  if (typeof facts === "string") return facts;
  if (typeof facts === "function") return (facts as () => Members)();
  const text = JSON.stringify(facts);
  return text === "{}" ? "" : `,${text.slice(1, -1)}`;
}

/** The facts as an object. */
export function plainFacts(facts: Facts): object {
  if (typeof facts === "object") return facts;
  return JSON.parse(`{${membersOf(facts).slice(1)}}`) as object;
}
