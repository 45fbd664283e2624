import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { UsageError } from "../../base/errors.ts";
import { silentLogger } from "../../base/logger.ts";
import { parseTokens, rightsFormat } from "./token-file.ts";

const CONTEXT = { temporaryDirectory: undefined, logger: silentLogger, hiddenPaths: [], fsRoots: [] };
const MAX_TOKENS = 1_000;

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const token = (name: string, rest = ""): string =>
  `[[token]]\nname = "${name}"\nsha256 = "${sha256(name)}"\npreset = "full"\n${rest}`;
const parse = (text: string) => parseTokens("tokens.toml", text, rightsFormat(CONTEXT));

it("a token has its name, one or two hashes, its rights, and the time at which it expires", async () => {
  const [ann, bob, cat] = await parse(
    `${token("ann")}
[[token]]
name = "bob"
sha256 = ["${sha256("old")}", "${sha256("new").toUpperCase()}"]
preset = "observe"
see = ["ann"]
[[ token ]] # with blanks
name = "c.a_t-9"
sha256 = ["${sha256("cat")}"]
preset = "full"
expires = 2027-01-31T00:00:00+01:00
limits = { max_processes = 3 }
`,
  );
  expect([ann?.name, ann?.rights.preset, ann?.expiresAtMs]).toEqual(["ann", "full", undefined]);
  expect(ann?.sha256.map((hash) => hash.toString("hex"))).toEqual([sha256("ann")]);
  expect(bob?.sha256.map((hash) => hash.toString("hex"))).toEqual([sha256("old"), sha256("new")]);
  expect([bob?.rights.preset, bob?.rights.grant("name:ann"), bob?.rights.grant("name:cat")]).toEqual([
    "observe",
    "follow",
    undefined,
  ]);
  expect([cat?.name, cat?.expiresAtMs]).toEqual(["c.a_t-9", Date.parse("2027-01-30T23:00:00Z")]);
  expect(cat?.rights.limits).toEqual({ maxProcesses: 3 });
  expect(await parse("")).toEqual([]);
});

const NAME = "must have 1 to 64 letters, digits, `_`, `.` and `-`, and start with a letter or digit";
const HASHES = "must be one or 2 SHA-256 digests of 64 hexadecimal digits";
const TIME = "must be a date and time with its zone, such as 2027-01-31T00:00:00Z";

it.each([
  ["a = [", /^tokens\.toml:1:\d+: ./],
  ["\n\nusers = 1", "tokens.toml:3: users is not a known key; there is only [[token]]"],
  ["\ntoken = 1", "tokens.toml:2: token must be a table: [[token]]"],
  ["\ntoken = [1]", "tokens.toml:1: token must be a table: [[token]]"],
  [token("ann", "admin = true"), "tokens.toml:5: admin is not a known key"],
  [`${token("ann")}\n${token("bob", "admin = true")}`, "tokens.toml:10: admin is not a known key"],
  [token("-ann"), `tokens.toml:2: name ${NAME}`],
  [token("a".repeat(65)), `tokens.toml:2: name ${NAME}`],
  ["\n[[token]]\n", `tokens.toml:2: name ${NAME}`],
  [`[[token]]\nname = "ann"\nsha256 = "abc"`, `tokens.toml:3: sha256 ${HASHES}`],
  [`[[token]]\nname = "ann"\n\nsha256 = []`, `tokens.toml:4: sha256 ${HASHES}`],
  [
    `[[token]]\nname = "ann"\nsha256 = [${[1, 2, 3].map((each) => `"${sha256(`${each}`)}"`).join()}]`,
    `tokens.toml:3: sha256 ${HASHES}`,
  ],
  [`[[token]]\nname = "ann"\nsha256 = ["${sha256("1")}", 2]`, `tokens.toml:3: sha256 ${HASHES}`],
  [`[[token]]\nname = "ann"\nsha256 = "${sha256("1")}"`, /^tokens\.toml:1: preset must be one of full, /],
  [token("ann", "expires = 2027-01-31T00:00:00"), `tokens.toml:5: expires ${TIME}`],
  [token("ann", "expires = 2027-01-31"), `tokens.toml:5: expires ${TIME}`],
  [token("ann", 'expires = "2027-01-31T00:00:00Z"'), `tokens.toml:5: expires ${TIME}`],
  [
    token("ann", "limits = { max_frames = 1 }"),
    /^tokens\.toml:1: limits\.max_frames is not one of the limits/,
  ],
  [token("ann", "[token.limits]\nmax_processes = -1"), /^tokens\.toml:6: limits\.max_processes /],
  [`\n${token("ann", 'roots = ["/srv"]')}`, "tokens.toml:2: roots is for the preset files, not for full"],
  [`${token("ann")}\n\n${token("ann")}`, "tokens.toml:7: the name ann is used twice"],
  [
    `token = [${["ann", "bob"].map((secret) => `{ name = "eve", sha256 = "${sha256(secret)}", preset = "full" }`).join(", ")}]`,
    "tokens.toml:1: the name eve is used twice",
  ],
  [
    `${token("ann")}\n${token("bob").replace(sha256("bob"), sha256("ann"))}`,
    "tokens.toml:6: a sha256 of bob is used twice",
  ],
])("a fault is told with the line that it is on: %j", async (text, message) => {
  const fault = await parse(text).catch((error: unknown) => error);
  expect(fault).toBeInstanceOf(UsageError);
  const thrown = (fault as UsageError).message;
  if (typeof message === "string") expect(thrown).toBe(message);
  else expect(thrown).toMatch(message);
});

it("a table has so many tokens and no more", async () => {
  const most = Array.from({ length: MAX_TOKENS }, (_, index) => token(`t${index}`)).join("\n");
  expect(await parse(most)).toHaveLength(MAX_TOKENS);
  await expect(parse(`${most}\n${token("more")}`)).rejects.toThrow(
    "tokens.toml:1: there are more than 1000 tokens",
  );
});
