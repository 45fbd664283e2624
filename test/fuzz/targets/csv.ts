import { UsageError } from "../../../src/base/errors.ts";
import { CsvRows } from "../../../src/rows/input/csv-rows.ts";
import { JsonLineRows } from "../../../src/rows/input/json-line-rows.ts";
import { Utf8Check } from "../../../src/rows/input/utf8-check.ts";
import type { RowReader } from "../../../src/rows/input/raw-row.ts";
import { withPlan } from "../choices.ts";
import { chunksOf, expectEqual, type Target } from "../target.ts";

const PLAN_BYTES = 12;

async function* each(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

/** The rows, or what is wrong. */
async function rowsOf(reader: RowReader, chunks: readonly Buffer[]): Promise<unknown> {
  const rows = [];
  try {
    for await (const row of reader.read(each(chunks))) rows.push(row);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { rows, error: error.message };
  }
  return { rows, columns: reader.columns };
}

function faultOf(chunks: readonly Buffer[]): string | undefined {
  const check = new Utf8Check("f");
  try {
    for (const chunk of chunks) check.push(chunk);
    check.end();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return error.message;
  }
  return undefined;
}

/** Rows do not depend on how the bytes of a file arrive, and rows that are written again are the same. */
export const target: Target = {
  seeds: [
    Buffer.concat([Buffer.alloc(PLAN_BYTES), Buffer.from('id,name\n1,"a ""b"", c"\r\n2,\u00e4\n')]),
    Buffer.concat([
      Buffer.from([0, 2, 1, 5, 0, 6]),
      Buffer.alloc(PLAN_BYTES - 6),
      Buffer.from('\ufeffa;b\n"1\n2";x"y\n\n;\n'),
    ]),
    Buffer.concat([
      Buffer.from([1, 2, 1, 9]),
      Buffer.alloc(PLAN_BYTES - 4),
      Buffer.from('{"a":1,"b":"\u00e4"}\n\n{"a":null}\r\n'),
    ]),
  ],
  words: [
    '"',
    '""',
    ",",
    ";",
    "\t",
    "|",
    "\n",
    "\r\n",
    "\r",
    "\ufeff",
    "\u6f22",
    Buffer.from([0xff, 0xfe]),
    "\0",
    '{"a":',
    "}\n",
  ],
  maxBytes: 600,
  async run(input) {
    const { plan, bytes } = withPlan(input, PLAN_BYTES);
    const isCsv = plan.below(2) === 0;
    const chunks = chunksOf(bytes, plan);
    const newReader = (): RowReader => (isCsv ? new CsvRows("f", ",") : new JsonLineRows("f"));
    const isText = faultOf([bytes]) === undefined;
    // Of two faults, the first that arrives is reported.
    expectEqual(faultOf(chunks) === undefined, isText, "whether it is text, however the file arrives");
    if (!isText || bytes.length === 0) return;
    const whole = await rowsOf(newReader(), [bytes]);
    expectEqual(await rowsOf(newReader(), chunks), whole, "the rows, however the file arrives");
  },
};
