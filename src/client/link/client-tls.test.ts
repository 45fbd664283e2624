import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { UsageError } from "../../base/errors.ts";
import { checkClientTls, readClientTls } from "./client-tls.ts";

const PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

describe("the certificates of a client", () => {
  it("are PEM text, or files of it, which may say more before", () => {
    const path = join(temporaryDirectory(), "ca.pem");
    writeFileSync(path, `Subject: CN=test\n${PEM}`);
    expect(readClientTls({ ca: path, cert: PEM, key: `\n${PEM}` })).toEqual({
      ca: `Subject: CN=test\n${PEM}`,
      cert: PEM,
      key: `\n${PEM}`,
    });
    expect(readClientTls({})).toEqual({});
  });

  it("are refused by their name if a file has none, or cannot be read", () => {
    const path = join(temporaryDirectory(), "key.pem");
    writeFileSync(path, "nothing");
    expect(() => readClientTls({ key: path })).toThrow(
      new UsageError(`\`key\` in ${path} is not a PEM file`),
    );
    expect(() => readClientTls({ ca: "/nowhere" })).toThrow(/^cannot read `ca` in \/nowhere: ENOENT/);
  });

  it("go together, and with a URL that uses them", () => {
    checkClientTls("wss://a.test", { ca: PEM, cert: PEM, key: PEM });
    checkClientTls("ws://a.test", {});
    expect(() => checkClientTls("wss://a.test", { cert: PEM })).toThrow("both `cert` and `key`");
    expect(() => checkClientTls("wss://a.test", { key: PEM })).toThrow("both `cert` and `key`");
    for (const tls of [{ ca: PEM }, { cert: PEM, key: PEM }])
      expect(() => checkClientTls("ws://a.test", tls)).toThrow("need a URL with wss://");
  });
});
