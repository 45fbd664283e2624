import { expect, test } from "vitest";
import { whyRowsWait } from "./why-rows-wait.ts";

type Seen = Parameters<typeof whyRowsWait>[0][number];

const FULL: Seen = {
  state: "ready",
  room: 0,
  slots: 4,
  host: undefined,
  isConnected: false,
  failures: 0,
  refusal: undefined,
};
const NEW: Seen = { ...FULL, room: 4 };
const LOST: Seen = { ...FULL, host: {} as Seen["host"] };

test.each<[string, Seen[]]>([
  ["3 machines match, all full (12 of 12 slots)", [FULL, FULL, FULL]],
  ["1 machine matches, full (4 of 4 slots)", [FULL]],
  [
    "4 machines match: 2 full (6 of 6 slots), 1 cordoned, 1 draining",
    [{ ...FULL, state: "cordoned" }, FULL, { ...FULL, state: "draining" }, { ...FULL, slots: 2 }],
  ],
  ["2 machines match, all cordoned", [0, 1].map(() => ({ ...NEW, state: "cordoned" as const }))],
  ["2 machines match, all out of reach", [LOST, { ...NEW, failures: 1 }]],
  ["2 machines match: 1 refusing rows, 1 being connected to", [{ ...NEW, refusal: "no token" }, NEW]],
  ["1 machine matches, full (4 of 4 slots)", [FULL, { ...FULL, state: undefined }]],
  ["no machine matches the selection any longer", [{ ...NEW, state: undefined }]],
])("%s", (text, machines) => {
  expect(whyRowsWait(machines)).toBe(text);
});
