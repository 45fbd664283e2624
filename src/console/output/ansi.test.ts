import { expect, test } from "vitest";
import { parseLine, PLAIN, TRUE_COLOUR, withSgr } from "./ansi.ts";

const ESC = "\x1b";

test("colours become spans, and the style continues on the next line", () => {
  const first = parseLine(`a${ESC}[1;31mred${ESC}[0mb${ESC}[42m c`, PLAIN);
  expect(first.text).toBe("aredb c");
  expect(first.spans).toEqual([
    { start: 1, end: 4, style: { bold: true, foreground: 1 } },
    { start: 5, end: 7, style: { background: 2 } },
  ]);
  expect(parseLine("next", first.style).spans).toEqual([{ start: 0, end: 4, style: { background: 2 } }]);
});

test.each([
  ["38;5;208", { foreground: 208 }],
  ["48;2;1;2;3", { background: TRUE_COLOUR + 0x010203 }],
  ["38:5:9", { foreground: 9 }],
  ["96;103", { foreground: 14, background: 11 }],
  ["1;2;3;4;7;9", { bold: true, faint: true, italic: true, underlined: true, inverse: true, struck: true }],
  ["1;22", {}],
  ["31;39", {}],
  ["38;5;999", {}],
  ["38;2;1", {}],
  ["?25", {}],
  ["", {}],
])("%s is %j", (parameters, style) => {
  expect(withSgr(PLAIN, parameters)).toEqual(style);
});

test.each([
  ["a progress bar shows its last state", "10%\r50%\r100%", "100%"],
  ["a line end of two characters shows nothing", "text\r", "text"],
  ["a backspace takes back a character", "ab\bc", "ac"],
  ["tabs go to every eighth column", "a\tb\t", "a       b       "],
  ["movements of the cursor are dropped", `a${ESC}[2K${ESC}[1;1Hb${ESC}(Bc${ESC}=`, "abc"],
  ["titles are dropped", `${ESC}]0;evil\x07text`, "text"],
  ["links keep their text only", `${ESC}]8;;javascript:alert(1)${ESC}\\click${ESC}]8;;${ESC}\\`, "click"],
  ["the clipboard is left alone", `${ESC}]52;c;ZXZpbA==\x07`, ""],
  ["a string that does not end takes its line only", `a${ESC}]0;rest of the line`, "a"],
  ["a sequence that is cut takes nothing else", `a${ESC}[`, "a"],
  ["a lone escape is dropped", `a${ESC}`, "a"],
  ["strings of devices are dropped", `${ESC}Pq#0${ESC}\\x`, "x"],
  ["marks of direction are shown", "evil\u202Egpj.exe", "evil\\u202egpj.exe"],
  ["zero bytes are shown", "a\0b", "a\\x00b"],
  ["emoji that are joined stay joined", "\u{1F469}\u200d\u{1F4BB}", "\u{1F469}\u200d\u{1F4BB}"],
  ["markup is text", "<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
])("%s", (_fact, raw, text) => {
  expect(parseLine(raw, PLAIN).text).toBe(text);
});

test("spans of what was overwritten are gone", () => {
  const { text, spans } = parseLine(`${ESC}[31mred red${ESC}[0m\rok`, PLAIN);
  expect([text, spans]).toEqual(["ok", undefined]);
});
