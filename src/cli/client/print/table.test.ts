import { expect, test } from "vitest";
import { table } from "./table.ts";

interface Row {
  readonly name: string;
  readonly size: number;
  readonly command: string;
}
const COLUMNS = [
  { title: "NAME", value: ({ name }: Row) => name },
  { title: "SIZE", value: ({ size }: Row) => String(size), align: "right" as const },
  { title: "COMMAND", value: ({ command }: Row) => command },
];

test("columns are as wide as their contents, and lines end without spaces", () => {
  const rows = [
    { name: "web", size: 7, command: "npm start" },
    { name: "日本", size: 12_345, command: "" },
  ];
  expect(table(rows, COLUMNS)).toBe(
    ["NAME   SIZE  COMMAND", "web       7  npm start", "日本  12345", ""].join("\n"),
  );
});

test("the last column is cut to the terminal's width", () => {
  const rows = [{ name: "web", size: 1, command: "a very long command line" }];
  expect(table(rows, COLUMNS, { width: 24 })).toBe("NAME  SIZE  COMMAND\nweb      1  a very long…\n");
  expect(table(rows, COLUMNS, { width: 5 })).toBe("NAME  SIZE  COMMAND\nweb      1  a very …\n");
});

test("a value stays on its line", () => {
  const rows = [{ name: "a\nb", size: 1, command: "\u001b[31mred" }];
  expect(table(rows, COLUMNS)).toBe("NAME  SIZE  COMMAND\na\\nb     1  \\x1b[31mred\n");
});

test("colours change no width", () => {
  const rows = [{ name: "web", size: 1, command: "x" }];
  const red = (text: string): string => `<${text}>`;
  const columns = [{ ...COLUMNS[0]!, style: red }, ...COLUMNS.slice(1)];
  expect(table(rows, columns, { titleStyle: (text) => text.toLowerCase() })).toBe(
    "name  size  command\n<web >     1  x\n",
  );
});

test("a table without rows has its titles", () => {
  expect(table([], COLUMNS)).toBe("NAME  SIZE  COMMAND\n");
});

test("very many rows have a table", () => {
  const rows = Array.from({ length: 200_000 }, (_, size) => ({ name: "n", size, command: "c" }));
  expect(table(rows, COLUMNS).length).toBeGreaterThan(1_000_000);
});
