import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { silentLogger } from "../../base/logger.ts";
import { viewOf } from "../../capabilities/sandbox/view/view-of.ts";
import { parseTokens, rightsFormat } from "../access/token-file.ts";
import { operatorPolicy } from "./operator-policy.ts";

const CONTEXT = { temporaryDirectory: undefined, logger: silentLogger, hiddenPaths: [], fsRoots: [] };
let directory: string;
const at = (name: string): string => join(directory, name);

beforeEach(() => {
  directory = temporaryDirectory();
  for (const name of ["work/out", "other"]) mkdirSync(at(name), { recursive: true });
});

const policyFor = (name: string) => operatorPolicy({ write: [at(name)] }, CONTEXT, "policy")!;
const writable = (policy: ReturnType<typeof policyFor>): string[] =>
  viewOf(policy).mounts.flatMap(({ kind, path }) => (kind === "writable" ? [path] : []));

describe("the links of an operator's policy", () => {
  it("are followed when it is read, and not again", () => {
    symlinkSync("work", at("link"));
    const policy = policyFor("link/out");
    renameSync(at("link"), at("aside"));
    symlinkSync("other", at("link"));
    expect(writable(policy)).toEqual([at("work/out")]);
  });

  it.each(["work/out", "work/new"])("are refused if they appear later: %s", (name) => {
    const policy = policyFor(name);
    if (name === "work/out") renameSync(at(name), at("aside"));
    symlinkSync("../other", at(name));
    expect(() => viewOf(policy)).toThrow(`${at(name)} has become a symbolic link since the policy named `);
  });
});

describe("a token table", () => {
  const token = (name: string, rights: string): string =>
    `[[token]]\nname = "${name}"\nsha256 = "${name.repeat(64)}"\n${rights}\n`;
  const sandboxed = (path: string): string =>
    `preset = "sandboxed"\npolicy = { write = [${JSON.stringify(at(path))}] }`;
  const parse = (...tokens: string[]) => parseTokens("tokens.toml", tokens.join(""), rightsFormat(CONTEXT));
  const withRoots = () => `preset = "files"\nroots = [${JSON.stringify(at("work"))}]`;

  it.each([
    ["a sandbox", () => sandboxed("work")],
    ["roots", () => withRoots()],
  ])("has no policy that leads through a link which another token can replace, by %s", async (_, rights) => {
    symlinkSync("../other", at("work/link"));
    await expect(parse(token("a", sandboxed("work/link")), token("b", rights()))).rejects.toThrow(
      `tokens.toml:1: policy leads through the link ${at("work/link")}, which the token b can replace`,
    );
  });

  it("may lead through links that nobody with a token can replace", async () => {
    symlinkSync("other", at("link"));
    symlinkSync("../other", at("work/link"));
    const observer = token("c", `${withRoots()}\nread_only = true`);
    await expect(
      parse(token("a", sandboxed("link")), token("b", sandboxed("work/out")), observer),
    ).resolves.toHaveLength(3);
    await expect(parse(token("a", sandboxed("work/link")), observer)).resolves.toHaveLength(2);
  });
});
