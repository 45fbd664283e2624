import { decodeBase64, decodeBase64InPlace, encodeBase64 } from "../../../src/base/base64.ts";
import { attempt, expectEqual, type Target } from "../target.ts";

class Refused extends Error {}

/** Accepted is exactly what another encoder writes. */
export const target: Target = {
  seeds: ["", "AA==", "AAA=", "aGVsbG8gd29ybGQ=", "+/+/", Buffer.alloc(300, "Zg09").toString()],
  words: ["=", "==", "-", "_", "+", "/", "A", "\n", " ", "\u00fc"],
  run(input) {
    const text = input.toString("utf8");
    const decoded = attempt(() => decodeBase64(text, (reason) => new Refused(reason)), Refused);
    const expected = Buffer.from(text, "base64");
    const isValid = expected.toString("base64") === text;
    expectEqual("value" in decoded, isValid, "valid is what Buffer would write");
    if ("value" in decoded) {
      expectEqual(Buffer.from(decoded.value), expected, "the bytes of Buffer");
      expectEqual(encodeBase64(decoded.value), text, "encoded again");
    }
    const inPlace = Buffer.from(input);
    const result = decodeBase64InPlace(inPlace);
    expectEqual(
      result === undefined,
      !isValid || input.toString("latin1") !== text,
      "in place, the same is valid",
    );
    if (result === undefined) expectEqual(inPlace, input, "restored");
    else expectEqual(Buffer.from(result), expected, "decoded in place");
  },
};
