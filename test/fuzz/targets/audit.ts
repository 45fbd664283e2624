import { createHash } from "node:crypto";
import { SealedLines } from "../../../src/server/audit/sealed-lines.ts";
import { type AuditPart, verifyAudit } from "../../../src/server/audit/verify.ts";
import { NO_LINES } from "../../../src/server/audit/chain.ts";
import { Choices } from "../choices.ts";
import { expectEqual, expectTrue, type Target } from "../target.ts";

const LINES = 8;

function sealed(count: number): { text: string; head: { line: number; hash: string } } {
  const lines = new SealedLines(NO_LINES);
  for (let at = 1; at <= count; at += 1) lines.add(`"at":"2026-01-01","event":"process","value":"v${at}"`);
  return { text: lines.bytes().toString("latin1"), head: lines.head };
}

const { text: LOG, head: HEAD } = sealed(LINES);

/** The line with a hash that fits it. */
function resealed(line: string): string {
  const covered = line.replace(/,"hash":"[0-9a-f]{64}"\}$/, "");
  return `${covered},"hash":"${createHash("sha256").update(covered, "latin1").digest("hex")}"}`;
}

/** Somebody who can write to the log, and to compute hashes. */
function tampered(choices: Choices): string {
  let lines = LOG.slice(0, -1).split("\n");
  for (let deeds = 1 + choices.below(3); deeds > 0; deeds -= 1) {
    const at = choices.below(Math.max(1, lines.length));
    const line = lines[at] ?? "";
    switch (choices.below(8)) {
      case 0: {
        const place = choices.below(Math.max(1, line.length));
        lines[at] = line.slice(0, place) + String.fromCharCode(choices.byte()) + line.slice(place + 1);
        break;
      }
      case 1:
        lines.splice(at, 1);
        break;
      case 2:
        lines.splice(choices.below(lines.length + 1), 0, line);
        break;
      case 3:
        lines[at] = line.replace(/v\d/, choices.pick(["v0", "v9", "", "\u00ff"]));
        break;
      case 4:
        lines[at] = resealed(line);
        break;
      case 5:
        lines[at] = resealed(line.replace(/v\d/, "v0"));
        break;
      case 6:
        lines = lines.slice(0, choices.below(lines.length + 1));
        break;
      case 7:
        lines[at] = line.replace(/"n":\d+/, `"n":${choices.below(LINES + 2)}`);
        break;
    }
  }
  return lines.map((line) => `${line}\n`).join("");
}

function parts(bytes: Buffer, choices: Choices): AsyncIterable<AuditPart> {
  const middle =
    choices.below(2) === 0 ? bytes.length : bytes.indexOf("\n", choices.below(bytes.length + 1)) + 1;
  const files = [bytes.subarray(0, middle), bytes.subarray(middle)].filter((file) => file.length > 0);
  return (async function* list() {
    for (const [at, file] of files.entries()) yield { name: `${at}`, content: pieces(file) };
  })();
}

async function* pieces(file: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < file.length; at += 700) yield file.subarray(at, at + 700);
}

/** Only the log that was written is free of faults, if its head is known. */
export const target: Target = {
  seeds: [
    Buffer.from([0, 2, 0, 30, 65, 0]),
    Buffer.from([1, 3, 3, 1, 4, 4]),
    Buffer.from([0, 5, 5, 1]),
    Buffer.from([2, 1, 1, 6, 5, 2, 3, 1]),
    Buffer.from(LOG, "latin1"),
  ],
  words: ["\n", '"n":2', '"prev":"', ',"hash":"'],
  async run(input) {
    const choices = new Choices(input);
    const text = input[0]! > 0x20 ? input.toString("latin1") : tampered(choices);
    const bytes = Buffer.from(text, "latin1");
    const verdict = await verifyAudit(parts(bytes, choices), HEAD);
    if (text === LOG)
      expectEqual(verdict, { lines: LINES, first: 1, head: HEAD, lost: 0 }, "the log as it was written");
    if (verdict.fault !== undefined) return;
    // The beginning may be in files that are gone, and others may have written on.
    const start = LOG.indexOf(text.slice(0, text.indexOf("\n") + 1));
    expectTrue(start >= 0 && text.startsWith(LOG.slice(start)), "a changed log has a fault");
  },
};
