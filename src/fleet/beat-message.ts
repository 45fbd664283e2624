import { defined } from "../base/defined.ts";
import { type Beat, STATES } from "./beat.ts";
import { MAX_LABELS } from "./labels.ts";
import { FLEET_PROTOCOL, isExecutorId } from "./subjects.ts";

const MAX_TEXT_CHARACTERS = 256;
/** The last moment that a Date can hold. */
const MAX_TIME_MS = 8.64e15;
/** More than a beat with the maximum of labels. */
const MAX_BEAT_BYTES = 16 * 1024;

export function encodeBeat(beat: Beat): Buffer {
  return Buffer.from(JSON.stringify({ protocol: FLEET_PROTOCOL, ...beat }));
}

/**
 * Undefined for anything invalid: a client that may publish beats must not be able to put anything else into the list.
 */
export function decodeBeat(data: Buffer): Beat | undefined {
  if (data.length > MAX_BEAT_BYTES) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(data.toString("utf8"));
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { protocol, id, run, since, version, labels, running, free, load, state } = value as Record<
    string,
    unknown
  >;
  if (protocol !== FLEET_PROTOCOL || !isText(id) || !isExecutorId(id) || !isText(run)) return undefined;
  if (!isCount(since) || since > MAX_TIME_MS || !isCount(running) || !isCount(free) || !isLoad(load))
    return undefined;
  if (!isState(state)) return undefined;
  const known = readLabels(labels);
  if (known === undefined || (version !== undefined && !isText(version))) return undefined;
  return { id, run, since, labels: known, running, free, load, state, ...defined({ version }) };
}

function readLabels(value: unknown): Record<string, string> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const entries = Object.entries(value);
  if (entries.length > MAX_LABELS || !entries.every(([key, text]) => isText(key) && isText(text)))
    return undefined;
  return Object.fromEntries(entries);
}

function isState(value: unknown): value is Beat["state"] {
  return (STATES as readonly unknown[]).includes(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_TEXT_CHARACTERS;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isLoad(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
