/** What a message is, according to its envelope. */
export interface Envelope {
  readonly kind: "request" | "notification" | "answer" | "error" | "other";
  readonly method?: string;
  /** As it is written, so that a number and a text differ. */
  readonly id?: string;
}

/** Longer messages are not parsed: their beginning and end say enough, and a flood of them must cost little. */
const PARSED_CHARACTERS = 8192;
const HEAD_CHARACTERS = 400;
const TAIL_CHARACTERS = 100;

// Without escapes, which neither clients nor servers need in ids and names.
const ID = /"id": ?("[^"\\]{0,80}"|-?\d{1,20})/;
const METHOD = /"method": ?"([^"\\]{0,200})"/;
/** Where the contents of a message begin; what follows is not part of the envelope. */
const CONTENTS = /"(?:params|result|error)":/;

export function readEnvelope(text: string): Envelope {
  return text.length <= PARSED_CHARACTERS ? parsed(text) : guessed(text);
}

function parsed(text: string): Envelope {
  try {
    const message = JSON.parse(text) as Readonly<Record<string, unknown>> | null;
    if (typeof message !== "object" || message === null) return { kind: "other" };
    return envelope({
      method: typeof message["method"] === "string" ? message["method"] : undefined,
      id: message["id"] === undefined ? undefined : JSON.stringify(message["id"]),
      hasError: message["error"] !== undefined,
    });
  } catch {
    return { kind: "other" };
  }
}

function guessed(text: string): Envelope {
  const beginning = ownText(text.slice(0, HEAD_CHARACTERS));
  const contents = CONTENTS.exec(beginning);
  const head = beginning.slice(0, contents?.index);
  const method = METHOD.exec(head)?.[1];
  return envelope({
    method,
    id: ID.exec(head)?.[1] ?? (method === undefined ? lastId(text) : undefined),
    hasError: contents?.[0] === '"error":',
  });
}

/** Errors have their id at the end. */
function lastId(text: string): string | undefined {
  const tail = ownText(text.slice(-TAIL_CHARACTERS));
  const id = ID.exec(tail.slice(tail.lastIndexOf('"id":')))?.[1];
  return tail.endsWith(`${id}}`) ? id : undefined;
}

interface Parts {
  readonly method: string | undefined;
  readonly id: string | undefined;
  readonly hasError: boolean;
}

function envelope({ method, id, hasError }: Parts): Envelope {
  if (method !== undefined && id !== undefined) return { kind: "request", method, id };
  if (method !== undefined) return { kind: "notification", method };
  if (id === undefined) return { kind: "other" };
  return { kind: hasError ? "error" : "answer", id };
}

/** A part of a text shares the memory of the whole; this one does not. */
export function ownText(part: string): string {
  return JSON.parse(JSON.stringify(part)) as string;
}
