/** A line of the audit log, for people. */
export interface AuditLine {
  readonly number: number;
  readonly time: string;
  readonly who: string;
  readonly event: string;
  /** Everything else, without what chains the lines. */
  readonly facts: string;
}

export function readAuditLine(text: string): AuditLine {
  const { n, time, principal, token, event, prev: _prev, hash: _hash, ...facts } = parsed(text);
  return {
    number: Number(n),
    time: localTime(word(time)),
    who: word(token ?? principal),
    event: word(event),
    facts: Object.entries(facts)
      .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
      .join("  "),
  };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return { event: "unreadable", text };
  }
}

function word(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function localTime(text: string): string {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : date.toLocaleTimeString("en-GB");
}
