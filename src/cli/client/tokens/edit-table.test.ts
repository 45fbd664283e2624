import { describe, expect, it } from "vitest";
import { withoutOlderDigest, withSecondDigest, withToken } from "./edit-table.ts";

const OLD = "ab".repeat(32);
const NEW = "cd".repeat(32);
const entry = (sha256: string, name = "ci"): string =>
  `[[token]]\nname = "${name}"\nsha256 = ${sha256}\npreset = "full"\n`;

describe("a second digest", () => {
  it.each([
    [`"${OLD}" # ann's`, `["${OLD}", "${NEW}"] # ann's`],
    [`'${OLD}'`, `['${OLD}', "${NEW}"]`],
    [`["${OLD.toUpperCase()}"]`, `["${OLD.toUpperCase()}", "${NEW}"]`],
    [
      `[\n  # "${OLD}"\n  "${OLD}", # the laptop\n]`,
      `[\n  # "${OLD}"\n  "${OLD}", "${NEW}", # the laptop\n]`,
    ],
  ])("is added to %j", async (before, after) => {
    const text = (sha256: string): string => `# İ "${OLD}"\r\n${entry(sha256)}\n# the end`;
    expect(await withSecondDigest("F", text(before), "ci", NEW)).toBe(text(after));
  });

  it("makes the older one removable, with nothing left of it", async () => {
    for (const form of [`["${OLD}", "${NEW}"]`, `[\n  "${OLD}" ,\n "${NEW}",\n]`]) {
      const changed = await withoutOlderDigest("F", entry(form), "ci");
      expect(changed).not.toContain(OLD);
      await expect(withoutOlderDigest("F", changed, "ci")).rejects.toThrow("has only one token");
    }
  });

  it("is refused where the text is not what it seems", async () => {
    const hidden = `[[token]]\nname = "#"\n`;
    await expect(withSecondDigest("F", hidden, "ci", NEW)).rejects.toThrow("name must have");
    // The first place in which the digest is found is part of another text.
    const elsewhere = `token = [{ name = "ci", see = ["${OLD}"], sha256 = "${OLD}", preset = "full" }]\n`;
    await expect(withSecondDigest("F", elsewhere, "ci", NEW)).rejects.toThrow(
      "cannot change F without touching the rest; do it by hand",
    );
  });
});

describe("a new token", () => {
  const lines = entry(`["${NEW}"]`, "new");
  it.each([
    ["", lines],
    ["# only this", `# only this\n\n${lines}`],
    [entry(`"${OLD}"`), `${entry(`"${OLD}"`)}\n${lines}`],
    [entry(`"${OLD}"`).trimEnd(), `${entry(`"${OLD}"`)}\n${lines}`],
  ])("is added to %j", async (before, after) => {
    expect(await withToken("F", before, "new", lines)).toBe(after);
  });

  it("is refused where it would become something else", async () => {
    const inline = `token = [{ name = "ci", sha256 = "${OLD}", preset = "full" }]\n`;
    await expect(withToken("F", inline, "new", lines)).rejects.toThrow("do it by hand");
    await expect(withToken("F", entry(`"${NEW}"`), "new", lines)).rejects.toThrow("do it by hand");
  });
});
