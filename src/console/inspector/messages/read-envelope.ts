import { isObject, parseJson } from "../json-path.ts";

/** Kind and names of a message, according to its envelope. */
export interface Envelope {
  readonly kind: "request" | "notification" | "answer" | "error" | "other";
  readonly method?: string;
  /** As written, so that a number and a string differ. */
  readonly id?: string;
}

/** Longer messages are not parsed: their beginning and end say enough, and a flood of them must cost little. */
const PARSED_CHARACTERS = 8192;
const HEAD_CHARACTERS = 400;
const TAIL_CHARACTERS = 100;

// Without escapes, which clients and servers do not need in ids and names.
const ID = /"id": ?("[^"\\]{0,80}"|-?\d{1,20})/;
const METHOD = /"method": ?"([^"\\]{0,200})"/;
/** Start of a message's contents; what follows is not part of the envelope. */
const CONTENTS = /"(?:params|result|error)":/;

export function readEnvelope(text: string): Envelope {
  return text.length <= PARSED_CHARACTERS ? parsed(text) : guessed(text);
}

function parsed(text: string): Envelope {
  const message = parseJson(text);
  if (!isObject(message)) return { kind: "other" };
  const { method, id, error } = message;
  return envelope(
    typeof method === "string" ? method : undefined,
    id === undefined ? undefined : JSON.stringify(id),
    error !== undefined,
  );
}

function guessed(text: string): Envelope {
  const beginning = ownText(text.slice(0, HEAD_CHARACTERS));
  const contents = CONTENTS.exec(beginning);
  const head = beginning.slice(0, contents?.index);
  const method = METHOD.exec(head)?.[1];
  const id = ID.exec(head)?.[1] ?? (method === undefined ? lastId(text) : undefined);
  return envelope(method, id, contents?.[0] === '"error":');
}

/** Errors have their id at the end. */
function lastId(text: string): string | undefined {
  const tail = ownText(text.slice(-TAIL_CHARACTERS));
  const id = ID.exec(tail.slice(tail.lastIndexOf('"id":')))?.[1];
  return tail.endsWith(`${id}}`) ? id : undefined;
}

function envelope(method: string | undefined, id: string | undefined, hasError: boolean): Envelope {
  if (method !== undefined && id !== undefined) return { kind: "request", method, id };
  if (method !== undefined) return { kind: "notification", method };
  if (id === undefined) return { kind: "other" };
  return { kind: hasError ? "error" : "answer", id };
}

/** A part of a text shares the memory of the whole; this one does not. */
export function ownText(part: string): string {
  return JSON.parse(JSON.stringify(part)) as string;
}
