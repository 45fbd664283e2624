import { InvalidArgumentError } from "commander";
import { parseDuration } from "../../shared/parse-duration.ts";

/** A day or a time of the calendar, in UTC unless it says otherwise. */
const MOMENT = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?$/i;
const HAS_ZONE = /(?:Z|[+-]\d{2}:\d{2})$/i;
/** TOML has four digits for the year. */
const MAX_MS = Date.UTC(10_000, 0);

/** When a token ends: after a time such as `30d`, or at a moment such as `2027-01-31`. */
export function parseExpiry(text: string, now: number = Date.now()): Date {
  const ms = MOMENT.test(text)
    ? momentOf(text)
    : now + (/[a-z]$/.test(text) ? (parseDuration(text) ?? NaN) : NaN);
  if (!(ms < MAX_MS))
    throw new InvalidArgumentError("Expected a time such as 30d or 12h, or a date such as 2027-01-31.");
  if (ms <= now) throw new InvalidArgumentError("That is over.");
  return new Date(ms);
}

function momentOf(text: string): number {
  const isDay = !text.includes("T") && !text.includes("t");
  return Date.parse(isDay || HAS_ZONE.test(text) ? text : `${text}Z`);
}
